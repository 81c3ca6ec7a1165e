// Packs closed files of the block log: rows of a stream in large parts, table by table, and spans of 10 and 60 s beside them.
// Reads, makes and writes one stream at a time.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/packed/catalog.h"
#include "server/packed/log_contents.h"
#include "server/packed/packed_writer.h"

#include <map>
#include <string>
#include <vector>

namespace belay::server {

// What packing made; it counts when a catalog names it.
struct PackedLogs {
    std::vector<std::string> logs;
    std::vector<PackedFile> files;  // none where all blocks were packed before
    std::map<stream::StreamId, PackedBlocks> streams;
    std::vector<LostPart> lost;
    uint64_t duplicates = 0;  // blocks that were packed before
};

// Files of one writer. Blocks that the catalog knows are duplicates, which another belayd took, too. The files get names of the
// catalog's next number and are synced. Errors: kSystem, kNoSpace, kNotFound where another packer was
// faster and the logs are gone; kBadInput for a log of a newer version. What was made by then
// is not a file that counts.
core::Result<PackedLogs> pack_logs(const core::Directory& logs, const std::vector<LogFile>& files,
                                   const core::Directory& packed, const Catalog& catalog,
                                   const PackedLimits& limits);

}  // namespace belay::server
