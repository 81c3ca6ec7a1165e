// The blocks of a stream out of the files of block logs, as pieces that a reader of segments takes.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"
#include "server/blocks/block_index.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Each file of a block log that somebody holds open, once: a cut of a large job asks for thousands of nodes. Thread-safe.
class LogPool {
  public:
    // Errors: kSystem; kNotFound for a file that is gone.
    core::Result<std::shared_ptr<const core::Descriptor>> open(const core::Directory& directory,
                                                               const std::string& name);

  private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<const core::Descriptor>> files_;
};

// Files of a block log that are held open: what is removed meanwhile can be read all the same. Directory and pool outlive this.
class OpenLogs {
  public:
    OpenLogs(const core::Directory& directory, LogPool& pool) : directory_(&directory), pool_(&pool) {}
    // Opens the files of the places that are not open yet. False where one of them is gone. Errors: kSystem.
    core::Result<bool> open(const std::vector<BlockPlace>& places);
    // -1 for a file that is not open.
    int descriptor(const std::string& file) const;

  private:
    const core::Directory* directory_;
    LogPool* pool_;
    std::map<std::string, std::shared_ptr<const core::Descriptor>> files_;
};

// What of a run of numbers is wanted, in order.
using BlockFilter = std::function<std::vector<BlockRun>(BlockRun)>;

// `places`: by the numbers of their blocks. Each number is given once, also where two places have it. A piece has as
// many blocks of one session as lie in about 4 MiB. Errors: kSystem, kNotFound for a file that is gone; what `visit` returns.
core::Result<> read_places(const core::Directory& directory, const std::vector<BlockPlace>& places,
                           const std::function<core::Result<>(std::string_view piece)>& visit);

// The same of those numbers that the filter leaves, out of files that are open.
core::Result<> read_places(const core::Directory& directory, const OpenLogs& logs,
                           const std::vector<BlockPlace>& places, const BlockFilter& filter,
                           const std::function<core::Result<>(std::string_view piece)>& visit);

}  // namespace belay::server
