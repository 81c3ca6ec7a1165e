#include "bench/models/cosmoflow/training/samples.h"

#include "bench/models/cosmoflow/kernels.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace belay::bench::cosmoflow {

Samples::Samples(int side, uint64_t seed, const Share& share, int threads)
    : side_(side),
      seed_(seed),
      values_per_sample_(kChannels * static_cast<size_t>(side) * side * side),
      train_(make(Split::kTrain, share.train, threads)),
      eval_(make(Split::kEval, share.eval, threads)) {}

Samples::Store Samples::make(Split split, const std::vector<uint32_t>& indices, int threads) const {
    Store store;
    store.counts.resize(indices.size() * values_per_sample_);
    store.targets.resize(indices.size());
    for (size_t place = 0; place < indices.size(); ++place) store.places[indices[place]] = place;
    std::atomic<size_t> next = 0;
    auto work = [&] {
        UniverseGenerator generator(static_cast<size_t>(side_), seed_);
        for (size_t place = next++; place < indices.size(); place = next++) {
            std::span<int16_t> counts(store.counts.data() + place * values_per_sample_, values_per_sample_);
            store.targets[place] = generator.make(split, indices[place], counts);
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
        work();
    }
    return store;
}

void Samples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
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
}

}  // namespace belay::bench::cosmoflow
