#include "bench/models/oc20/training/model.h"

#include "bench/models/oc20/generator.h"
#include "bench/models/oc20/training/force_error.h"
#include "bench/models/oc20/training/network.h"
#include "bench/models/oc20/training/samples.h"
#include "bench/train/known_model.h"

namespace belay::bench::oc20 {

namespace {

class Oc20Model : public Model {
  public:
    explicit Oc20Model(const Size& size) : size_(size), extent_(typical_extent(size)) {}

    std::string_view name() const override { return "oc20"; }
    const Profile& profile() const override { return size_.run; }
    const Metric& metric() const override { return metric_; }
    double bytes_per_sample() const override {
        constexpr double kBytesPerAtom = 2 * sizeof(Vector) + 2 * sizeof(uint8_t);
        return sizeof(Structure) + kBytesPerAtom * extent_.atoms;
    }
    double flops_per_sample() const override { return flops_of(size_, extent_); }
    progress::Json settings() const override {
        return {{"force_coefficient", kForceWeight},
                {"energy_coefficient", 0},
                {"force_sigma", size_.force_sigma}};
    }
    core::Result<std::unique_ptr<Data>> make_data(const DataSource& source, const Share& share,
                                                  int threads) const override {
        BELAY_TRY(samples, source.directory.empty() ? Samples::make(size_, source.seed, share, threads)
                                                    : Samples::open(size_, source.directory, share));
        return std::make_unique<Samples>(std::move(samples));
    }
    core::Result<> write_data(uint64_t seed, const Profile& profile, const std::filesystem::path& directory,
                              int threads) const override {
        return write_samples(directory, size_, seed, profile, threads);
    }
    // Nothing is drawn in training.
    std::unique_ptr<Network> make_network(uint64_t seed, uint64_t /*rank_seed*/) const override {
        return oc20::make_network(size_, seed);
    }
    core::Result<std::vector<std::string>> files_of(const std::filesystem::path& directory,
                                                    const Share& share) const override {
        return files_of_share(directory, share);
    }

  private:
    Size size_;
    Extent extent_;
    ForceError metric_;
};

}  // namespace

std::unique_ptr<Model> make_model(const Size& size) {
    return std::make_unique<Oc20Model>(size);
}

KnownModel known_model() {
    return known_model_of<sizes, size_named, make_model>("oc20", "forces on atoms from their places");
}

}  // namespace belay::bench::oc20
