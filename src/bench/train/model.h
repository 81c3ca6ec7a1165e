// What a model brings, so that the trainer can train it: a profile, data, a network and a metric. The trainer
// knows nothing else of it. Known models stand in models/registry.h.
#pragma once

#include "bench/optimize/optimizer.h"
#include "bench/schedule/profile.h"
#include "bench/schedule/share.h"
#include "bench/synthetic/random.h"
#include "core/error.h"
#include "progress/mllog.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

class Group;

// Some samples. How the values of a sample lie in `inputs` and `targets` is between a model's data, network
// and metric.
struct Batch {
    size_t samples = 0;
    std::vector<float> inputs, targets;
};

// The samples of one rank.
class Data {
  public:
    virtual ~Data() = default;
    // Fills `batch` with the samples `indices` of `split`, all of them of the rank's share. Errors: of data
    // in files, kBadInput, kSystem.
    virtual core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const = 0;
};

// Where samples come from.
struct DataSource {
    uint64_t seed = 1;
    std::filesystem::path directory =
        {};  // with what write_data() wrote, loose or packed; empty: made at the start, kept in memory
    // Where `directory` holds only the files_of() a share: the directory from which they came, whose list of files says which
    // of them is which sample. Empty: `directory` itself.
    std::filesystem::path listing = {};
    const std::filesystem::path& listed_in() const { return listing.empty() ? directory : listing; }
};

// A network with its loss and its optimizer.
class Network {
  public:
    virtual ~Network() = default;

    // All weights and biases, one after the other. Valid as long as the network.
    virtual std::span<float> parameters() = 0;
    // The gradients in the same order and, last, the loss: what ranks add up.
    virtual std::span<float> gradients_and_loss() = 0;
    // The tensors that parameters() is made of, in order. By default a single one.
    virtual std::vector<Layer> layers() { return {{.start = 0, .count = parameters().size()}}; }
    // What training changes beside the parameters and prediction uses: running means of batch norms.
    virtual std::span<float> buffers() { return {}; }

    // Sets gradients_and_loss() to those of the mean loss over the batch.
    virtual void compute_gradients(const Batch& batch) = 0;
    // From now on compute_gradients() calls `ready` with the number of a layer as soon as that layer's gradient is
    // whole, and not before the loss stands where it belongs. A network that cannot tell does not call it.
    virtual void report_gradients(std::function<void(size_t layer)> /*ready*/) {}
    // What is drawn in training from now on (dropout) follows from this seed.
    virtual void seed_draws(uint64_t /*seed*/) {}

    // Moves the parameters along gradients_and_loss(), by the optimizer.
    virtual void step(double rate);
    // Before the first step; without it the optimizer is SGD with momentum 0.9.
    void optimize_with(const OptimizerSettings& settings);
    Optimizer& optimizer();

    // What the network says of these inputs, laid out as targets are. Nothing random takes part.
    virtual void predict(const Batch& batch, std::vector<float>& predictions) = 0;

  private:
    std::unique_ptr<Optimizer> optimizer_;
};

// What the held-out samples came to.
struct Evaluation {
    double value;
    progress::Json details;  // for the metadata of the log line; an object
};

// How good predictions are. Sums are what ranks add up.
class Metric {
  public:
    virtual ~Metric() = default;
    virtual std::string_view name() const = 0;  // "mean absolute error"
    virtual std::string_view key() const = 0;   // MLLOG's: eval_error, eval_accuracy
    virtual bool reached(double value, double target) const = 0;
    virtual size_t sums() const = 0;
    virtual void add(const Batch& batch, std::span<const float> predictions,
                     std::span<double> sums) const = 0;
    virtual Evaluation conclude(std::span<const double> sums) const = 0;
};

// A model in one of its sizes.
class Model {
  public:
    virtual ~Model() = default;
    virtual std::string_view name() const = 0;  // MLLOG's submission_benchmark
    virtual const Profile& profile() const = 0;
    virtual const Metric& metric() const = 0;
    // Of one sample in memory.
    virtual double bytes_per_sample() const = 0;
    // Floating-point operations of training on one sample.
    virtual double flops_per_sample() const = 0;
    // MLLOG's keys for what the rules want to be said beside sizes, optimizer and rate: dropout, ...; an object.
    // What the trainer logs by itself (log_settings.h) goes before what stands here.
    virtual progress::Json settings() const = 0;

    // Makes or opens the samples of `share` with `threads` threads. Errors: kSystem.
    virtual core::Result<std::unique_ptr<Data>> make_data(const DataSource& source, const Share& share,
                                                          int threads) const = 0;
    // All samples of `profile` as files. Errors: kBadInput, kSystem.
    virtual core::Result<> write_data(uint64_t seed, const Profile& profile,
                                      const std::filesystem::path& directory, int threads) const = 0;
    // With weights drawn from `seed`; `rank_seed`, for what is drawn in training, differs between ranks.
    virtual std::unique_ptr<Network> make_network(uint64_t seed, uint64_t rank_seed) const = 0;

    // Consecutive samples of a batch whose values depend on each other, as those of a batch norm. Ranks with a multiple of
    // these compute together what one of them computes alone.
    virtual int samples_together() const { return 1; }

    // Whether a sample can be split over so many ranks, each of which computes a part of the network's values.
    virtual bool can_split(int ways) const { return ways == 1; }
    // The network of rank part.rank() of the part.size() ranks that share each sample; they call its functions
    // together and have the same parameters. The gradients and losses of all of them add up to those of the batch.
    // An exchange that fails is thrown. `part` lives longer than the network.
    virtual std::unique_ptr<Network> make_network_part(uint64_t seed, uint64_t rank_seed,
                                                       Group& /*part*/) const {
        return make_network(seed, rank_seed);
    }
    // The files of a directory with data that `share` needs, by their names in it; empty: all of them, whoever asks.
    // Errors: kSystem, where it cannot be listed.
    virtual core::Result<std::vector<std::string>> files_of(const std::filesystem::path& /*directory*/,
                                                            const Share& /*share*/) const {
        return std::vector<std::string>();
    }
};

// A model as people choose it.
struct KnownModel {
    std::string_view name;
    std::string_view summary;
    std::vector<std::string_view> profiles;  // the first one is taken unless another is asked for
    std::string_view profile_help;
    // Errors: kBadInput for an unknown profile, with the nearest name.
    core::Result<std::unique_ptr<Model>> (*make)(std::string_view profile);
};

}  // namespace belay::bench
