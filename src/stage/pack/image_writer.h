// All files of a source as one squashfs image with the profile for training data.
#pragma once

#include "core/error.h"
#include "shard/manifest.h"
#include "stage/pack/shard_writer.h"

#include <string>

namespace belay::stage {

struct ImageOptions {
    bool compressed = true;
    size_t threads = 1;  // that compress, and as many that read
    uint32_t mtime = 0;  // of every file: seconds since 1970
};

// As the manifest states them, so that the same image can be made again. Errors: kBadInput for an invalid
// time.
core::Result<ImageOptions> image_options(const shard::Manifest& manifest, size_t threads);

// Whether compression is worth what unpacking costs each epoch: where it saves a tenth, by a sample of the
// files.
bool is_compressible(const core::Directory& source, const SourceListing& listing, size_t threads);
inline constexpr std::string_view kZstd = "zstd-3";
inline constexpr std::string_view kNoCompression = "none";

// The image appears when it is whole. Symbolic links that were followed are files in it. Errors: as
// write_shard().
core::Result<shard::ManifestShard> write_image(const ShardWork& work, const std::string& path,
                                               const ImageOptions& options,
                                               const shard::ManifestShard* expected = nullptr);

}  // namespace belay::stage
