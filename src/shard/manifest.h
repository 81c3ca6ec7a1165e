// manifest.json: what a packed data set is made of and was made from, and by which its shards are trusted
// (docs/formats/stage-manifest.md). Written last: a directory without one holds no data set yet.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::shard {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr size_t kMostManifestBytes = size_t{64} << 20;

enum class Format { kTar, kSquashfs };
std::string_view to_text(Format format);

struct ManifestShard {
    std::string path;  // relative, without ".."
    uint64_t bytes = 0;
    uint64_t records = 0;
    uint64_t samples = 0;
    std::string sha256;
    std::string index_sha256 = {};  // of a tar's index
    bool operator==(const ManifestShard&) const = default;
};

struct Manifest {
    std::string name;
    std::string created;  // ISO 8601: of the newest source file, or SOURCE_DATE_EPOCH
    std::string tool;     // "belay 0.6.0"
    Format format = Format::kTar;
    struct Options {
        std::optional<uint64_t> shard_bytes;  // of a tar
        std::optional<uint64_t> shuffle_key;
        std::string links = "follow";
        std::string compression = {};  // of a squashfs: "zstd-3" or "none"
        bool operator==(const Options&) const = default;
    } options = {};
    struct Source {
        std::string root;
        uint64_t files = 0;
        uint64_t bytes = 0;
        std::string listing_sha256;
        std::string url = {};  // what people say of it, as the next two
        std::string licence = {};
        std::string revision = {};
        bool operator==(const Source&) const = default;
    } source = {};
    std::vector<ManifestShard> shards = {};

    uint64_t records() const;
    uint64_t samples() const;
    uint64_t bytes() const;
    bool operator==(const Manifest&) const = default;
};

// With its own digest, over the same JSON without that key.
std::string encode_manifest(const Manifest& manifest);
// Errors: kBadInput for anything that is not a manifest: with unknown keys, totals or a digest that differ,
// paths that lead elsewhere.
core::Result<Manifest> parse_manifest(std::string_view text, std::string_view file);

}  // namespace belay::shard
