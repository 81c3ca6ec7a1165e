// A packed data set by the names of its files.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "shard/index.h"
#include "shard/manifest.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::stage {

// What packing keeps beside the shards until the manifest is there (stage/pack/journal.h).
inline constexpr std::string_view kJournalName = ".packing";

class Dataset {
  public:
    // Errors: kBadInput where there is no manifest, or it is damaged; kSystem.
    static core::Result<Dataset> open(const std::filesystem::path& directory);

    const core::Directory& directory() const { return directory_; }
    const shard::Manifest& manifest() const { return manifest_; }

    // Every record of the tars, shard by shard, in the order of their names. Errors: kBadInput for a damaged
    // index; those of `take`.
    using TakeRecord =
        std::function<core::Result<>(const shard::ManifestShard& shard, const shard::Record& record)>;
    core::Result<> list(const TakeRecord& take) const;

    // The content of a record, checked while it goes to `take`: what a damaged one gave is not to be used.
    // Errors: kNotFound where there is none of that name; kNegative for a damaged one; those of `take`.
    core::Result<> read(std::string_view name,
                        const std::function<core::Result<>(std::string_view)>& take) const;

  private:
    Dataset(core::Directory directory, shard::Manifest manifest)
        : directory_(std::move(directory)), manifest_(std::move(manifest)) {}
    core::Result<> require_tar() const;
    // The index of a shard, checked; `text` holds it.
    core::Result<shard::IndexView> index_of(const shard::ManifestShard& shard, std::string& text) const;

    core::Directory directory_;
    shard::Manifest manifest_;
};

// The manifest of a packed data set. Errors: kBadInput, kNotFound, where there is none; kBadInput for a
// damaged one.
core::Result<shard::Manifest> read_manifest(const core::Directory& directory);

struct OwnedManifest {
    shard::Manifest manifest;
    uint32_t owner = 0;  // of the file that was read, whatever has its name by now
};
core::Result<OwnedManifest> read_owned_manifest(const core::Directory& directory);

// "train-000017.idx" of "train-000017.tar".
std::string index_name(std::string_view shard_name);

}  // namespace belay::stage
