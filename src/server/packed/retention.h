// What goes when: raw rows first, then spans of 10 s, then of 60 s. Pure.
#pragma once

#include "core/time.h"
#include "server/blocks/block_index.h"
#include "server/packed/catalog.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::server {

struct Retention {
    // By when blocks came to belayd: clocks of nodes may be wrong.
    core::Duration raw = std::chrono::hours(7 * 24);
    core::Duration ten_seconds = std::chrono::hours(30 * 24);
    core::Duration minute = std::chrono::hours(2 * 365 * 24);
    // Of all packed files together; beyond it the oldest go, of raw rows first. Nothing: no bound.
    std::optional<uint64_t> bytes = std::nullopt;
};

// Whether rows of these times are still needed: of jobs that are not cut yet, of days that are not archived.
using Held = std::function<bool(const PackedFile& file)>;

enum class RemovedFor { kAge, kRoom };
struct RemovedFile {
    PackedFile file;
    RemovedFor why = RemovedFor::kAge;
};
struct RetentionPlan {
    std::vector<RemovedFile> removed;
    // Would have gone, but is held. Of `bytes` so many are too many all the same.
    std::vector<PackedFile> held;
    uint64_t bytes_over = 0;
};

// `held` may be empty.
RetentionPlan plan_retention(const Catalog& catalog, const Retention& keep, core::Time now, const Held& held);

// "60 files of raw rows until 2026-03-01T12:00:00.000000Z, 18.2 GB, for their age": what was removed, a line for each tier and
// reason.
std::vector<std::string> describe(const std::vector<RemovedFile>& removed);

}  // namespace belay::server
