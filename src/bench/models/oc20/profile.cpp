#include "bench/models/oc20/profile.h"

#include "bench/schedule/find_size.h"

#include <fmt/format.h>

namespace belay::bench::oc20 {

namespace {

constexpr double kMiniDecayShares[] = {0.6, 0.8};
constexpr double kMiniDecayFactors[] = {0.1, 0.01};

// mlcommons/hpc, open_catalyst/configs/mlperf_hpc.yml; torch's AdamW lets weights decay by 0.01 by default.
constexpr int kFullDecaySteps[] = {125008, 187512, 250016};
constexpr double kFullDecayFactors[] = {0.1, 0.01, 0.001};
constexpr double kWeightDecay = 0.01;

constexpr Size kSizes[] = {
    {.run = {.name = "mini",
             .train_samples = 2048,
             .eval_samples = 256,
             .batch = 16,
             .target = 0.036,
             .maximum_epochs = 12,
             .threads = 1,
             .rate = {.warmup_rate = 0.002,
                      .base_rate = 0.002,
                      .decay_factors = kMiniDecayFactors,
                      .decay_shares = kMiniDecayShares},
             .optimizer = {.method = Method::kAdamW, .weight_decay = kWeightDecay},
             .log_style = LogStyle::kSteps},
     .hidden = 32,
     .output = 32,
     .blocks = 1,
     .interaction = 16,
     .basis = 4,
     .spherical = 4,
     .radial = 4,
     .cutoff = 4,
     .maximum_neighbors = 50,
     .force_sigma = 1,
     .angles_are_fixed = false,
     .sites = 3,
     .fewest_atoms = 12,
     .most_atoms = 20},
    {.run = {.name = "full",
             .train_samples = 2'000'000,
             .eval_samples = 999'866,
             .batch = 256,
             .target = 0.036,
             .maximum_epochs = 40,
             .threads = 0,
             .rate = {.warmup_factor = 0.2,
                      .base_rate = 0.0004,
                      .reference_batch = 256,
                      .decay_factors = kFullDecayFactors,
                      .warmup_steps = 31252,
                      .decay_steps = kFullDecaySteps},
             .optimizer = {.method = Method::kAdamW, .weight_decay = kWeightDecay},
             .log_style = LogStyle::kSteps},
     .hidden = 192,
     .output = 192,
     .blocks = 3,
     .interaction = 64,
     .basis = 8,
     .spherical = 7,
     .radial = 6,
     .cutoff = 6,
     .maximum_neighbors = 50,
     .force_sigma = 2.887317180633545,
     // The reference takes the angles' positions out of the graph ("detach").
     .angles_are_fixed = true,
     .sites = 5,
     .fewest_atoms = 60,
     .most_atoms = 90},
};

class LayerList {
  public:
    explicit LayerList(const Size& size) : size_(size) {}

    void add_embedding() {
        const int hidden = size_.hidden;
        add("rbf.freq", 1, size_.radial, false, Start::kFrequencies, Rows::kNone);
        add("emb.emb", kElements, hidden, false, Start::kEmbedding, Rows::kNone);
        add("emb.lin_rbf", hidden, size_.radial, true, Start::kUniform, Rows::kEdges);
        add("emb.lin", hidden, 3 * hidden, true, Start::kUniform, Rows::kEdges);
    }
    void add_output(int number) {
        const int out = size_.output;
        prefix_ = fmt::format("output_blocks.{}.", number);
        add("lin_rbf", size_.hidden, size_.radial, false, Start::kOrthogonal, Rows::kEdges);
        add("lin_up", out, size_.hidden, true, Start::kOrthogonalAndBiases, Rows::kAtoms);
        for (int i = 0; i < kOutputLayers; ++i)
            add(fmt::format("lins.{}", i), out, out, true, Start::kOrthogonal, Rows::kAtoms);
        add("lin", 1, out, false, Start::kZero, Rows::kAtoms);
    }
    void add_interaction(int number) {
        const int hidden = size_.hidden;
        prefix_ = fmt::format("interaction_blocks.{}.", number);
        add("lin_rbf1", size_.basis, size_.radial, false, Start::kOrthogonal, Rows::kEdges);
        add("lin_rbf2", hidden, size_.basis, false, Start::kOrthogonal, Rows::kEdges);
        add("lin_sbf1", size_.basis, size_.spherical * size_.radial, false, Start::kOrthogonal,
            Rows::kTriplets);
        add("lin_sbf2", size_.interaction, size_.basis, false, Start::kOrthogonal, Rows::kTriplets);
        add("lin_kj", hidden, hidden, true, Start::kOrthogonal, Rows::kEdges);
        add("lin_ji", hidden, hidden, true, Start::kOrthogonal, Rows::kEdges);
        add("lin_down", size_.interaction, hidden, false, Start::kOrthogonal, Rows::kEdges);
        add("lin_up", hidden, size_.interaction, false, Start::kOrthogonal, Rows::kEdges);
        add_residual("layers_before_skip", kLayersBeforeSkip);
        add("lin", hidden, hidden, true, Start::kOrthogonal, Rows::kEdges);
        add_residual("layers_after_skip", kLayersAfterSkip);
    }
    std::vector<Layer> take() { return std::move(layers_); }

  private:
    void add(std::string_view name, int out, int in, bool has_bias, Start start, Rows rows) {
        layers_.push_back({.name = fmt::format("{}{}", prefix_, name),
                           .out = out,
                           .in = in,
                           .has_bias = has_bias,
                           .start = start,
                           .rows = rows});
    }
    void add_residual(std::string_view name, int count) {
        for (int i = 0; i < count; ++i)
            for (int half : {1, 2})
                add(fmt::format("{}.{}.lin{}", name, i, half), size_.hidden, size_.hidden, true,
                    Start::kOrthogonal, Rows::kEdges);
    }

    const Size& size_;
    std::string prefix_;
    std::vector<Layer> layers_;
};

}  // namespace

std::span<const Size> sizes() {
    return kSizes;
}

core::Result<Size> size_named(std::string_view name) {
    return find_size(sizes(), name);
}

std::vector<Layer> layers(const Size& size) {
    LayerList list(size);
    list.add_embedding();
    for (int block = 0; block <= size.blocks; ++block) list.add_output(block);
    for (int block = 0; block < size.blocks; ++block) list.add_interaction(block);
    return list.take();
}

int64_t parameter_count(const Size& size) {
    int64_t count = 0;
    for (const Layer& layer : layers(size)) count += layer.parameters();
    return count;
}

double flops_of(const Size& size, const Extent& extent) {
    constexpr double kUses = 6;
    double flops = 0;
    for (const Layer& layer : layers(size)) {
        const double rows = layer.rows == Rows::kAtoms      ? extent.atoms
                            : layer.rows == Rows::kEdges    ? extent.edges
                            : layer.rows == Rows::kTriplets ? extent.triplets
                                                            : 0;
        flops += kUses * 2 * layer.in * layer.out * rows;
    }
    return flops;
}

}  // namespace belay::bench::oc20
