// The message WriteRequest of remote write 1.0 (prometheus/prompb/remote.proto, types.proto), in pieces of bounded
// size, and snappy's block format, in which it is sent.
#pragma once

#include "core/error.h"
#include "metrics/remote/series.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::metrics::remote {

// The NaN that says that a series ends (Prometheus, model/value/value.go), and the one that every other NaN is sent as.
inline constexpr uint64_t kStaleBits = 0x7ff0000000000002;
inline constexpr uint64_t kNanBits = 0x7ff8000000000001;

struct BatchLimits {
    size_t samples = 2000;           // as many as Prometheus sends at once by default (max_samples_per_send)
    size_t bytes = size_t{1} << 20;  // of the message, before it is compressed
};

struct Batch {
    std::string message;  // a WriteRequest
    size_t samples = 0;
};

struct Batches {
    std::vector<Batch> batches;
    size_t too_large =
        0;  // samples that alone, with the labels of their series, would be more than the bytes
};

// All series, in their order, each point once; of a series whose points do not fit into one batch the later ones are
// in a later batch. Metadata come first; those that are too large alone are left out.
Batches encode(std::span<const Series> series, std::span<const Metadata> metadata, const BatchLimits& limits);

// Errors: kSystem.
core::Result<std::string> compress(std::string_view message);

}  // namespace belay::metrics::remote
