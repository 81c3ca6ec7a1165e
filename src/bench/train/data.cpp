#include "bench/train/data.h"

#include "bench/models/cosmoflow/kernels.h"

#include <atomic>
#include <thread>

namespace belay::bench::cosmoflow {

SampleStore::SampleStore(int side, uint64_t seed, Split split, std::vector<uint32_t> indices, int threads)
    : indices_(std::move(indices)),
      values_per_sample_(kChannels * static_cast<size_t>(side) * side * side),
      counts_(indices_.size() * values_per_sample_),
      targets_(indices_.size()) {
    for (size_t place = 0; place < indices_.size(); ++place) places_[indices_[place]] = place;
    std::atomic<size_t> next = 0;
    auto work = [&] {
        UniverseGenerator generator(static_cast<size_t>(side), seed);
        for (size_t place = next++; place < indices_.size(); place = next++) {
            std::span<int16_t> counts(counts_.data() + place * values_per_sample_, values_per_sample_);
            targets_[place] = generator.make(split, indices_[place], counts);
        }
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
}

const Parameters& SampleStore::load(uint32_t index, std::span<float> input) const {
    size_t place = places_.at(index);
    log_counts(std::span(counts_).subspan(place * values_per_sample_, values_per_sample_), input.data());
    return targets_[place];
}

}  // namespace belay::bench::cosmoflow
