// One shard of the plan, written with its index.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/pack/listing.h"
#include "shard/manifest.h"
#include "stage/pack/plan.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace belay::stage {


// "train-000017.tar", and its index beside it: "train-000017.idx".
std::string shard_name(std::string_view name, size_t number);
std::string index_name(std::string_view shard_name);

// Each of the two files appears when it is whole, the index first: where the shard is, its index is. `done_bytes` grows with what is
// written. Errors: those of read_source; kSystem, kCancelled once `stop` is set.
core::Result<shard::ManifestShard> write_shard(const core::Directory& source, const SourceListing& listing, const PlannedShard& shard,
                                       const core::Directory& output, const std::string& path, std::atomic<uint64_t>& done_bytes,
                                       const std::atomic<bool>& stop);

}  // namespace belay::stage
