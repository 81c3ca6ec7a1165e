// belay stage pack: many files into few, with what it takes to find, check and make each of them again.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "shard/manifest.h"
#include "stage/pack/listing.h"
#include "stage/space/space.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace belay::stage {

inline constexpr uint64_t kUsualShardBytes = uint64_t{512} << 20;

struct PackOptions {
    shard::Format format = shard::Format::kTar;
    std::string name = {};                     // of the shards; empty: that of the source's directory
    std::optional<uint64_t> shard_bytes = {};  // at most; kUsualShardBytes. Of tar shards only
    std::optional<uint64_t> shuffle_key = {};
    LinkRule links = LinkRule::kFollow;
    size_t threads = 1;
    double memory_share = kUsualMemoryShare;  // as Need has it
    std::string url = {};
    std::string licence = {};
    std::string revision = {};
    std::string tool;                                                  // "belay 0.6.0"
    std::optional<int64_t> source_date = {};                           // SOURCE_DATE_EPOCH, seconds
    std::function<void(uint64_t done, uint64_t total)> progress = {};  // bytes; from one thread at a time
};

struct Packed {
    shard::Manifest manifest;
    uint64_t kept_shards = 0;  // that an earlier run had made already
    uint64_t skipped_links = 0;
    uint64_t without_suffix =
        0;  // files of tar shards that webdataset leaves out: their names have no suffix
};

// Into the directory `output`, which is made. Where an earlier run was ended, it goes on; where the same data
// are packed already, nothing is written. Errors: kBadInput for what cannot be packed, an output within the
// source, or one that holds something else; kSystem, kNoSpace before anything is written.
core::Result<Packed> pack(const std::filesystem::path& source, const std::filesystem::path& output,
                          const PackOptions& options);

}  // namespace belay::stage
