#include "bench/models/deepcam/training/model.h"

#include "bench/models/deepcam/training/intersection_over_union.h"
#include "bench/models/deepcam/training/network.h"
#include "bench/models/deepcam/training/samples.h"
#include "bench/train/known_model.h"

namespace belay::bench::deepcam {

namespace {

class DeepCamModel : public Model {
  public:
    explicit DeepCamModel(const Size& size) : size_(size) {}

    std::string_view name() const override { return "deepcam"; }
    const Profile& profile() const override { return size_.run; }
    const Metric& metric() const override { return metric_; }
    double bytes_per_sample() const override {
        return static_cast<double>(size_.image.cells()) *
               static_cast<double>(static_cast<size_t>(size_.image.channels) * sizeof(float) +
                                   sizeof(uint8_t));
    }
    double flops_per_sample() const override { return deepcam::flops_per_sample(size_); }
    progress::Json settings() const override { return {{"batchnorm_samples", size_.norm_samples}}; }
    int samples_together() const override { return size_.norm_samples; }
    core::Result<std::unique_ptr<Data>> make_data(const DataSource& source, const Share& share,
                                                  int threads) const override {
        if (source.directory.empty()) return make_samples(size_.image, source.seed, share, threads);
        return open_samples(source, size_.image, share);
    }
    core::Result<> write_data(uint64_t seed, const Profile& profile, const std::filesystem::path& directory,
                              int threads) const override {
        return write_samples(directory, size_.image, seed, profile, threads);
    }
    std::unique_ptr<Network> make_network(uint64_t seed, uint64_t /*rank_seed*/) const override {
        return deepcam::make_network(size_, seed);
    }
    core::Result<std::vector<std::string>> files_of(const std::filesystem::path& directory,
                                                    const Share& share) const override {
        return files_of_share(directory, size_.image, share);
    }

  private:
    Size size_;
    IntersectionOverUnion metric_;
};

}  // namespace

std::unique_ptr<Model> make_model(const Size& size) {
    return std::make_unique<DeepCamModel>(size);
}

KnownModel known_model() {
    return known_model_of<sizes, size_named, make_model>(
        "deepcam", "cyclones and rivers of moisture in the weather of the Earth");
}

}  // namespace belay::bench::deepcam
