// Which data sets are being packed into a directory, and which shards of them are done: a line for each, in
// .packing beside them, until the manifest is written. A pack that was ended anyhow goes on behind the last
// complete line.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"
#include "core/file_lock.h"
#include "shard/manifest.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace belay::stage {

class Journal {
  public:
    // Opens or makes it, and holds it alone, on all nodes (core/file_lock.h). Errors: kBadInput where another
    // process packs or repairs there, or another user began to; kSystem.
    static core::Result<Journal> open(const core::Directory& output);

    // Whether a pack of this name was interrupted here: files with its names are ours then.
    bool has_begun(const std::string& name) const { return names_.contains(name); }
    core::Result<> begin(const std::string& name);
    // Whether this process made it.
    bool is_new() const { return is_new_; }
    // Whether it says nothing: no pack was interrupted here.
    bool is_empty() const { return names_.empty() && done_.empty(); }

    // A shard that was written from what has this digest.
    std::optional<shard::ManifestShard> find(const std::string& source_sha256) const;
    // Durable when it returns. From any thread.
    core::Result<> add(const std::string& source_sha256, const shard::ManifestShard& shard);
    // Once the manifest is there.
    core::Result<> remove() &&;

  private:
    Journal(const core::Directory& output, std::string file_name, core::Descriptor file, core::FileLock lock)
        : output_(&output),
          file_name_(std::move(file_name)),
          file_(std::move(file)),
          lock_(std::move(lock)),
          mutex_(std::make_unique<std::mutex>()) {}
    core::Result<> read();
    core::Result<> append(const nlohmann::json& line);

    const core::Directory* output_;
    std::string file_name_;
    core::Descriptor file_;
    core::FileLock lock_;
    std::unique_ptr<std::mutex> mutex_;
    std::map<std::string, shard::ManifestShard> done_;
    std::set<std::string> names_;
    bool is_new_ = false;
};

}  // namespace belay::stage
