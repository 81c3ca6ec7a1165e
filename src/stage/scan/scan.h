// belay stage scan: what lies in a tree, what reading it costs where it lies, and what would cost less.
#pragma once

#include "core/error.h"
#include "stage/scan/cost.h"
#include "stage/scan/probe.h"
#include "stage/scan/sums.h"
#include "stage/walk/walk.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace belay::stage {

struct ScanOptions {
    size_t threads = 8;                // that list and look; a site's servers are shared
    double most_calls_per_second = 0;  // 0: no limit
    double epochs = 10;
    size_t workers = 8;  // of the loader that will read
    std::optional<uint64_t> inode_quota = {};
    std::optional<std::filesystem::path> local = {};  // where data would be copied to
    int64_t now = 0;                                  // nanoseconds since 1970
    const std::atomic<bool>* stop = nullptr;
    // What is done now, and how far it is where that is counted: as WalkOptions::progress.
    std::function<void(std::string_view phase, uint64_t done)> progress = {};
};

struct Scan {
    WalkReport walk;
    TreeSums sums;
    Speed speed;
    double compressed_share = 0;
    Duplicates duplicates;
    std::optional<LocalSpeed> local;
    bool local_is_same = false;  // options.local is on the file system of the directory: nothing is compared
    double open_seconds = 0;  // to find and open one file, in one thread: the mean; NaN where none was opened
    CostInput cost_input;
    Cost cost;
};

// Errors: kBadInput where `directory` is not one; kSystem, kCancelled once `stop` is set.
core::Result<Scan> scan(const std::filesystem::path& directory, const ScanOptions& options);

nlohmann::ordered_json to_json(const Scan& scan);

}  // namespace belay::stage
