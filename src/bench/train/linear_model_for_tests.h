// For tests: a model that shares nothing with those that are trained for real. y = 2 a - b + 0.5 by least
// squares, with gradients written out by hand, and a metric of which more is better.
#pragma once

#include "bench/train/model.h"

#include <algorithm>
#include <cmath>

namespace belay::bench {

class LineData : public Data {
  public:
    explicit LineData(uint64_t seed) : seed_(seed) {}
    core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override {
        batch = {.samples = indices.size(), .inputs = {}, .targets = {}};
        for (uint32_t index : indices) {
            RandomStream random(seed_, split, index, 0);
            const double a = random.next_uniform(), b = random.next_uniform();
            batch.inputs.insert(batch.inputs.end(), {static_cast<float>(a), static_cast<float>(b)});
            batch.targets.push_back(static_cast<float>(2 * a - b + 0.5));
        }
        return {};
    }

  private:
    uint64_t seed_;
};

class LineNetwork : public Network {
  public:
    explicit LineNetwork(uint64_t seed) {
        RandomStream random(seed, Split::kWeights, 0, 0);
        for (float& weight : weights_) weight = static_cast<float>(random.next_uniform());
    }
    std::span<float> parameters() override { return weights_; }
    std::span<float> gradients_and_loss() override { return gradients_; }
    std::vector<Layer> layers() override { return {{.start = 0, .count = 2}, {.start = 2, .count = 1}}; }
    std::span<float> buffers() override { return seen_; }
    void report_gradients(std::function<void(size_t)> ready) override { ready_ = std::move(ready); }
    void compute_gradients(const Batch& batch) override {
        std::vector<float> predictions;
        predict(batch, predictions);
        std::ranges::fill(gradients_, 0.0F);
        const auto samples = static_cast<float>(batch.samples);
        for (size_t i = 0; i < batch.samples; ++i) {
            const float error = predictions[i] - batch.targets[i];
            gradients_[0] += 2 * error * batch.inputs[2 * i] / samples;
            gradients_[1] += 2 * error * batch.inputs[2 * i + 1] / samples;
            gradients_[2] += 2 * error / samples;
            gradients_[3] += error * error / samples;
        }
        seen_[0] = 0.5F * seen_[0] + batch.inputs[0];
        for (size_t layer : {1, 0})
            if (ready_) ready_(layer);
    }
    void predict(const Batch& batch, std::vector<float>& predictions) override {
        predictions.clear();
        for (size_t i = 0; i < batch.samples; ++i)
            predictions.push_back(weights_[0] * batch.inputs[2 * i] + weights_[1] * batch.inputs[2 * i + 1] +
                                  weights_[2]);
    }

  private:
    std::vector<float> weights_ = std::vector<float>(3);
    std::vector<float> gradients_ = std::vector<float>(4);  // and the loss
    std::vector<float> seen_ = std::vector<float>(1);       // a running mean that nothing uses
    std::function<void(size_t)> ready_;
};

// The share of held-out samples that are predicted to 0.05.
class HitRate : public Metric {
  public:
    std::string_view name() const override { return "hit rate"; }
    std::string_view key() const override { return "eval_accuracy"; }
    bool reached(double value, double target) const override { return value >= target; }
    size_t sums() const override { return 2; }
    void add(const Batch& batch, std::span<const float> predictions, std::span<double> sums) const override {
        for (size_t i = 0; i < batch.samples; ++i)
            sums[0] += std::fabs(predictions[i] - batch.targets[i]) < 0.05F ? 1 : 0;
        sums[1] += static_cast<double>(batch.samples);
    }
    Evaluation conclude(std::span<const double> sums) const override {
        return {sums[0] / sums[1], {{"samples", sums[1]}}};
    }
};

class LinearModel : public Model {
  public:
    std::string_view name() const override { return "line"; }
    const Profile& profile() const override { return profile_; }
    const Metric& metric() const override { return metric_; }
    double bytes_per_sample() const override { return bytes_per_sample_; }
    int samples_together() const override { return samples_together_; }
    double flops_per_sample() const override { return 12; }
    progress::Json settings() const override { return {{"opt_name", "plain"}, {"lines", 1}}; }
    core::Result<std::unique_ptr<Data>> make_data(const DataSource& source, const Share&,
                                                  int) const override {
        if (out_of_memory_) throw std::bad_alloc();
        return std::make_unique<LineData>(source.seed);
    }
    core::Result<> write_data(uint64_t, const Profile&, const std::filesystem::path&, int) const override {
        return core::bad_input("a line has no files");
    }
    std::unique_ptr<Network> make_network(uint64_t seed, uint64_t) const override {
        return std::make_unique<LineNetwork>(seed);
    }

    Profile profile_{.name = "only",
                     .train_samples = 50,
                     .eval_samples = 11,
                     .batch = 8,
                     .target = 0.9,
                     .maximum_epochs = 100,
                     .threads = 1,
                     .rate = {.warmup_rate = 0.5, .base_rate = 0.5, .decay_epochs = {}, .decay_factors = {}},
                     .optimizer = {.momentum = 0}};
    double bytes_per_sample_ = 12;
    int samples_together_ = 1;
    bool out_of_memory_ = false;

  private:
    HitRate metric_;
};

}  // namespace belay::bench
