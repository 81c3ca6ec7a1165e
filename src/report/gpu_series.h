// What charts of GPUs are made of: a quantity of one GPU in a bucket of the digest, and its mean over the
// GPUs.
#pragma once

#include "report/model.h"
#include "score/digest.h"

#include <vector>

namespace belay::report {

inline double value_at(const score::GpuDigest& gpu, size_t quantity, size_t bucket) {
    const std::vector<float>& values = gpu.series[quantity];
    return bucket < values.size() ? static_cast<double>(values[bucket]) : kMissing;
}

// Of `value(gpu, bucket)` in each bucket, weighted by the GPUs' weights; missing where no GPU has one.
std::vector<double> weighted_mean(const score::Digest& digest, auto&& value) {
    std::vector<double> result(digest.buckets, kMissing);
    for (size_t bucket = 0; bucket < digest.buckets; ++bucket) {
        double sum = 0;
        double weight = 0;
        for (const score::GpuDigest& gpu : digest.gpus) {
            double one = value(gpu, bucket);
            if (is_missing(one)) continue;
            sum += gpu.weight * one;
            weight += gpu.weight;
        }
        if (weight > 0) result[bucket] = sum / weight;
    }
    return result;
}

inline std::vector<double> weighted_mean(const score::Digest& digest, size_t quantity) {
    return weighted_mean(
        digest, [=](const score::GpuDigest& gpu, size_t bucket) { return value_at(gpu, quantity, bucket); });
}

// Seconds since the start of the run.
inline std::vector<double> bucket_centres(const score::Digest& digest, double offset) {
    std::vector<double> seconds;
    for (size_t i = 0; i < digest.buckets; ++i)
        seconds.push_back(offset + (static_cast<double>(i) + 0.5) * digest.bucket_seconds);
    return seconds;
}

}  // namespace belay::report
