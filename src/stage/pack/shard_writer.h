// One shard of the plan, written with its index.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/new_file.h"
#include "shard/manifest.h"
#include "stage/pack/listing.h"
#include "stage/pack/plan.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace belay::stage {

// "train-000017.tar"; its index stands beside it.
std::string shard_name(std::string_view name, size_t number);

inline constexpr unsigned kForAll = 0644, kPrivate = 0600;

// What a manifest of somebody else's names as the source may be private: what is made again of it is kPrivate
// until it is known to be what was packed, and then kForAll, less what the umask takes. From one thread
// alone, since it changes the umask for a moment. Errors: kSystem.
core::Result<> let_all_read(const core::NewFile& file);

struct ShardWork {
    const core::Directory& source;
    const SourceListing& listing;
    const core::Directory& output;
    std::atomic<uint64_t>& done_bytes;  // grows with what is written
    const std::atomic<bool>& stop;      // once it is set, the work ends
};

// Each of the two files appears when it is whole, the index first: where the shard is, its index is. Where
// `expected` is given, neither does unless they are what it says. Errors: those of SourceReader; kSystem;
// kCancelled where it was stopped; kBadInput where it is something else than expected.
core::Result<shard::ManifestShard> write_shard(const ShardWork& work, const PlannedShard& shard,
                                               const std::string& path,
                                               const shard::ManifestShard* expected = nullptr);

}  // namespace belay::stage
