#include "bench/models/cosmoflow/training/samples.h"

#include "bench/models/cosmoflow/kernels.h"
#include "bench/train/sample_files.h"
#include "core/program.h"

#include <algorithm>
#include <memory>

namespace belay::bench::cosmoflow {

using core::Result;

Samples::Samples(int side, uint64_t seed)
    : side_(side), seed_(seed), values_per_sample_(kChannels * static_cast<size_t>(side) * side * side) {}

Result<Samples> Samples::make(int side, uint64_t seed, const Share& share, int threads) {
    Samples samples(side, seed);
    BELAY_TRY(train, samples.make_split(Split::kTrain, share.train, threads));
    BELAY_TRY(eval, samples.make_split(Split::kEval, share.eval, threads));
    samples.train_ = std::move(train);
    samples.eval_ = std::move(eval);
    return samples;
}

Result<Samples::Store> Samples::make_split(Split split, const std::vector<uint32_t>& indices,
                                           int threads) const {
    Store store;
    auto start = [&] {
        auto generator = std::make_shared<UniverseGenerator>(static_cast<size_t>(side_), seed_);
        return [&, generator](size_t place) -> Result<> {
            std::span<int16_t> counts(store.counts.data() + place * values_per_sample_, values_per_sample_);
            store.targets[place] = generator->make(split, indices[place], counts);
            return {};
        };
    };
    auto made = core::without_exceptions([&]() -> Result<> {
        store.counts.resize(indices.size() * values_per_sample_);
        store.targets.resize(indices.size());
        for (size_t place = 0; place < indices.size(); ++place) store.places[indices[place]] = place;
        return on_threads(indices.size(), threads, start);
    });
    BELAY_CHECK(core::with_context(std::move(made), fmt::format("cannot make {} samples", indices.size())));
    return store;
}

Result<> Samples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
    const Store& store = split == Split::kTrain ? train_ : eval_;
    batch.samples = indices.size();
    batch.inputs.resize(indices.size() * values_per_sample_);
    batch.targets.resize(indices.size() * kParameters);
    for (size_t i = 0; i < indices.size(); ++i) {
        const size_t place = store.places.at(indices[i]);
        log_counts(std::span(store.counts).subspan(place * values_per_sample_, values_per_sample_),
                   batch.inputs.data() + i * values_per_sample_);
        std::ranges::copy(store.targets[place],
                          batch.targets.begin() + static_cast<ptrdiff_t>(i * kParameters));
    }
    return {};
}

}  // namespace belay::bench::cosmoflow
