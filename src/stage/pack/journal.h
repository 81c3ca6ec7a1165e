// Which shards of a data set that is being packed are done: a line for each, in .packing beside them, until the manifest is written. A
// pack that was ended anyhow goes on behind the last complete line.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"
#include "shard/manifest.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace belay::stage {

class Journal {
  public:
    // Opens or makes it, and holds it alone. Errors: kBadInput where another process packs there, or another user began to; kSystem.
    static core::Result<Journal> open(const core::Directory& output);

    // Whether it was there already: a pack into this directory was interrupted.
    bool was_there() const { return was_there_; }

    // A shard that was written from what has this digest.
    std::optional<shard::ManifestShard> find(const std::string& source_sha256) const;
    // Durable when it returns. From any thread.
    core::Result<> add(const std::string& source_sha256, const shard::ManifestShard& shard);
    // Once the manifest is there.
    core::Result<> remove() &&;

  private:
    Journal(const core::Directory& output, std::string file_name, core::Descriptor file)
        : output_(&output), file_name_(std::move(file_name)), file_(std::move(file)), mutex_(std::make_unique<std::mutex>()) {}
    core::Result<> read();

    const core::Directory* output_;
    std::string file_name_;
    core::Descriptor file_;
    std::unique_ptr<std::mutex> mutex_;
    std::map<std::string, shard::ManifestShard> done_;
    bool was_there_ = false;
};

}  // namespace belay::stage
