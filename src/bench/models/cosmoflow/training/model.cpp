#include "bench/models/cosmoflow/training/model.h"

#include "bench/models/cosmoflow/training/network.h"
#include "bench/models/cosmoflow/training/samples.h"
#include "bench/models/cosmoflow/training/stored_samples.h"
#include "bench/models/cosmoflow/universe.h"
#include "bench/train/known_model.h"
#include "bench/train/mean_absolute_error.h"

#include <cmath>

namespace belay::bench::cosmoflow {

namespace {

class CosmoFlowModel : public Model {
  public:
    explicit CosmoFlowModel(const Size& size) : size_(size) {}

    std::string_view name() const override { return "cosmoflow"; }
    const Profile& profile() const override { return size_.run; }
    const Metric& metric() const override { return metric_; }
    double bytes_per_sample() const override {
        return static_cast<double>(sizeof(int16_t) * kChannels) * std::pow(size_.side, 3);
    }
    double flops_per_sample() const override { return cosmoflow::flops_per_sample(size_); }
    progress::Json settings() const override { return {{"dropout", size_.dropout}}; }
    core::Result<std::unique_ptr<Data>> make_data(const DataSource& source, const Share& share,
                                                  int threads) const override {
        if (source.directory.empty()) {
            BELAY_TRY(samples, Samples::make(size_.side, source.seed, share, threads));
            return std::make_unique<Samples>(std::move(samples));
        }
        BELAY_TRY(samples, StoredSamples::open(source, static_cast<uint32_t>(size_.side), share));
        return std::make_unique<StoredSamples>(std::move(samples));
    }
    core::Result<> write_data(uint64_t seed, const Profile& profile, const std::filesystem::path& directory,
                              int threads) const override {
        return write_samples(directory, static_cast<uint32_t>(size_.side), seed, profile, threads);
    }
    std::unique_ptr<Network> make_network(uint64_t seed, uint64_t rank_seed) const override {
        return cosmoflow::make_network(size_, seed, rank_seed);
    }
    bool can_split(int ways) const override { return cosmoflow::can_split(size_, ways); }
    std::unique_ptr<Network> make_network_part(uint64_t seed, uint64_t rank_seed,
                                               Group& part) const override {
        return cosmoflow::make_network(size_, seed, rank_seed, &part);
    }
    core::Result<std::vector<std::string>> files_of(const std::filesystem::path& directory,
                                                    const Share& share) const override {
        return files_of_share(directory, static_cast<uint32_t>(size_.side), share);
    }

  private:
    Size size_;
    MeanAbsoluteError metric_{kParameters};
};

}  // namespace

std::unique_ptr<Model> make_model(const Size& size) {
    return std::make_unique<CosmoFlowModel>(size);
}

KnownModel known_model() {
    return known_model_of<sizes, size_named, make_model>(
        "cosmoflow", "cosmological parameters from the distribution of matter");
}

}  // namespace belay::bench::cosmoflow
