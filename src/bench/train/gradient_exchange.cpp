#include "bench/train/gradient_exchange.h"

namespace belay::bench {

namespace {

std::vector<Bucket> buckets_of_network(Network& network, size_t bucket_bytes) {
    std::vector<size_t> counts;
    for (const Layer& layer : network.layers()) counts.push_back(layer.count);
    return buckets_of(counts, 1, bucket_bytes);
}

}  // namespace

GradientExchange::GradientExchange(Network& network, Group& group, int replicas, size_t bucket_bytes,
                                   bool overlaps)
    : network_(network),
      group_(group),
      replicas_(replicas),
      buckets_(buckets_of_network(network, bucket_bytes)),
      order_(buckets_) {
    if (overlaps && group_.size() > 1)
        network_.report_gradients([this](size_t layer) { start_until(order_.mark(layer)); });
}

void GradientExchange::begin() {
    order_.reset();
    sums_.clear();
    failure_ = {};
}

void GradientExchange::start_until(size_t bucket) {
    while (failure_ && sums_.size() < bucket) {
        const Bucket& next = buckets_[sums_.size()];
        auto sum = group_.start_sum(network_.gradients_and_loss().subspan(next.start, next.count));
        if (sum)
            sums_.push_back(std::move(*sum));
        else
            failure_ = std::unexpected(std::move(sum.error()));
    }
}

core::Result<> GradientExchange::finish() {
    start_until(buckets_.size());
    BELAY_CHECK(std::move(failure_));
    for (Group::Sum& sum : sums_) BELAY_CHECK(sum.wait());
    // Every replica has as many samples, so the mean over the batch is the mean of the replicas' means.
    for (float& value : network_.gradients_and_loss()) value /= static_cast<float>(replicas_);
    return {};
}

}  // namespace belay::bench
