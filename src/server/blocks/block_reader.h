// The blocks of a stream out of the files of block logs, as pieces that a reader of segments takes.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"
#include "server/blocks/block_index.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Files of a block log that are held open: what is removed meanwhile can be read all the same. The directory outlives this.
class OpenLogs {
  public:
    explicit OpenLogs(const core::Directory& directory) : directory_(&directory) {}
    // Opens the files of the places that are not open yet. False where one of them is gone. Errors: kSystem.
    core::Result<bool> open(const std::vector<BlockPlace>& places);
    // -1 for a file that is not open.
    int descriptor(const std::string& file) const;

  private:
    const core::Directory* directory_;
    std::map<std::string, core::Descriptor> files_;
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
