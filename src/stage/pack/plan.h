// Which files go into which shard, in which order. A pure function of the list and the options, so that
// shards can be made in any order, again, and by several threads.
#pragma once

#include "core/error.h"
#include "stage/pack/listing.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::stage {

struct PlanOptions {
    uint64_t shard_bytes = uint64_t{512} << 20;  // at most, unless one sample is larger
    std::optional<uint64_t> shuffle_key = {};    // nothing: in the order of the names
};

struct PlannedFile {
    size_t file = 0;      // in the listing
    uint32_t sample = 0;  // within the shard
    bool operator==(const PlannedFile&) const = default;
};

struct PlannedShard {
    std::vector<PlannedFile> files;
    uint64_t tar_bytes = 0;  // of the whole archive
    uint32_t samples = 0;
    bool operator==(const PlannedShard&) const = default;
};

// Samples in the order of their keys, or of a hash of key and shuffle key; files of a sample in the order of
// their names. Errors: kBadInput for a name that no index can hold.
core::Result<std::vector<PlannedShard>> plan_shards(const SourceListing& listing, const PlanOptions& options);

// SHA-256 over what the shard is made from: as the listing's, in the order of the shard. A shard that was
// made from the same need not be made again.
std::string digest_of(const SourceListing& listing, const PlannedShard& shard);

}  // namespace belay::stage
