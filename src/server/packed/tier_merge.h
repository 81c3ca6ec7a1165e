// Packed files of spans put together into larger ones: a day of spans of 60 s is one file, and not one for every ten minutes.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/packed/catalog.h"
#include "server/packed/packed_facts.h"
#include "server/packed/packed_writer.h"

#include <optional>
#include <string>
#include <vector>

namespace belay::server {

struct MergeLimits {
    core::Duration ten_seconds{};  // blocks that came in this time make one file; 0: never merged
    core::Duration minute = std::chrono::hours(24);     // likewise
    core::Duration settled = std::chrono::minutes(30);  // how long after its end such a time is over
};

// The files of one tier that are merged next: those of blocks that came within one of the times, which is over; nothing where there
// are not two such files. Pure.
std::vector<PackedFile> next_merge(const Catalog& catalog, const MergeLimits& limits, core::Time now);

struct MergedTier {
    std::optional<PackedFile> file;
    std::vector<LostPart> lost;  // parts that are damaged, and so are missing in it
};

// Files of one tier, not raw. Rows of one span of a stream become one. Holds what one stream has of one table. Errors: kSystem.
core::Result<MergedTier> merge_tier(const core::Directory& packed, const std::vector<PackedFile>& files,
                                    const Catalog& catalog, const PackedLimits& limits);

}  // namespace belay::server
