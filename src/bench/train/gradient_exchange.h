// The gradients of all ranks become their mean: in buckets, each begun as soon as it is full, while the backward pass
// goes on.
#pragma once

#include "bench/parallel/buckets.h"
#include "bench/train/group.h"
#include "bench/train/model.h"

#include <vector>

namespace belay::bench {

class GradientExchange {
  public:
    // `replicas`: ranks (or groups that share samples) of whose gradients the mean is taken. Without `overlaps` sums
    // begin after the backward pass; the bits are the same. Network and group live longer.
    GradientExchange(Network& network, Group& group, int replicas, size_t bucket_bytes, bool overlaps);

    // Before compute_gradients().
    void begin();
    // After it: gradients_and_loss() are the means. Errors: of the group.
    core::Result<> finish();
    size_t buckets() const { return buckets_.size(); }

  private:
    void start_until(size_t bucket);

    Network& network_;
    Group& group_;
    int replicas_;
    std::vector<Bucket> buckets_;
    BucketOrder order_;
    std::vector<Group::Sum> sums_;  // begun
    core::Result<> failure_;
};

}  // namespace belay::bench
