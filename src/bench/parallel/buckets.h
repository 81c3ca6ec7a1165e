// Gradients in buckets: what ranks add up in one operation, from the last layer to the first, since that is the
// order in which the backward pass finishes them. So adding up begins while it still runs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace belay::bench {

// As torch's DistributedDataParallel (Li et al., 2020, section 3.2.3): large enough to use the network, small
// enough that the first one is soon full.
inline constexpr size_t kBucketBytes = size_t{25} << 20;

// A range of a flat array of float32, and the tensors in it.
struct Bucket {
    size_t start = 0, count = 0;
    size_t first_tensor = 0, tensors = 0;
};

// Of tensors of `counts` values one after the other, with `behind` values (the loss) behind the last. A bucket
// closes before it would have more than `bytes`; a larger tensor has one of its own. Sums depend on where buckets
// begin and end, and so do the last bits of a training.
std::vector<Bucket> buckets_of(std::span<const size_t> counts, size_t behind, size_t bytes = kBucketBytes);

// Which buckets may be added up: ranks begin them in one order, so one that is full waits for those before it.
class BucketOrder {
  public:
    explicit BucketOrder(std::span<const Bucket> buckets);

    void reset();
    // The gradient of the tensor exists. Returns how many buckets from the first on may be begun now.
    size_t mark(size_t tensor);

  private:
    std::vector<size_t> bucket_of_tensor_, all_, missing_;  // the latter two by bucket
    std::vector<bool> marked_;                              // by tensor
    size_t ready_ = 0;
};

}  // namespace belay::bench
