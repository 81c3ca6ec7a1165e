// `belay record cut`: the record of a job out of the spools of the agents on its nodes.
#pragma once

#include "record/cut/cut.h"
#include "stream/segment.h"

#include <filesystem>
#include <vector>

namespace belay::record {

struct CutDone {
    std::vector<std::string> nodes;
    uint64_t rows = 0;
    std::vector<stream::Lost> lost;  // of the spools: damage, and files that were left out
};

// Makes the record, not sealed. The streams are read twice, piece by piece: what is held of them does not
// grow with their rows. Errors: kBadInput if nothing is known of the job, or there is a record already;
// kSystem.
core::Result<CutDone> cut_spools(const std::vector<std::filesystem::path>& spools, const CutRequest& request,
                                 const std::filesystem::path& record, core::Time now);

}  // namespace belay::record
