#include "bench/parallel/buckets.h"

namespace belay::bench {

std::vector<Bucket> buckets_of(std::span<const size_t> counts, size_t behind, size_t bytes) {
    size_t end = 0;
    for (size_t count : counts) end += count;
    std::vector<Bucket> buckets = {{.start = end, .count = behind, .first_tensor = counts.size()}};
    for (size_t tensor = counts.size(); tensor-- > 0;) {
        Bucket& last = buckets.back();
        if (last.tensors > 0 && (last.count + counts[tensor]) * sizeof(float) > bytes)
            buckets.push_back({.start = last.start, .count = 0, .first_tensor = tensor + 1});
        Bucket& bucket = buckets.back();
        bucket.start -= counts[tensor];
        bucket.count += counts[tensor];
        bucket.first_tensor = tensor;
        ++bucket.tensors;
    }
    return buckets;
}

BucketOrder::BucketOrder(std::span<const Bucket> buckets) {
    size_t tensors = 0;
    for (const Bucket& bucket : buckets) tensors += bucket.tensors;
    bucket_of_tensor_.resize(tensors);
    for (size_t i = 0; i < buckets.size(); ++i) {
        all_.push_back(buckets[i].tensors);
        for (size_t tensor = 0; tensor < buckets[i].tensors; ++tensor)
            bucket_of_tensor_[buckets[i].first_tensor + tensor] = i;
    }
    reset();
}

void BucketOrder::reset() {
    missing_ = all_;
    marked_.assign(bucket_of_tensor_.size(), false);
    ready_ = 0;
}

size_t BucketOrder::mark(size_t tensor) {
    if (!marked_[tensor]) --missing_[bucket_of_tensor_[tensor]];
    marked_[tensor] = true;
    while (ready_ < missing_.size() && missing_[ready_] == 0) ++ready_;
    return ready_;
}

}  // namespace belay::bench
