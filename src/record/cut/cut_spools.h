// `belay record cut`: the record of a job out of the spools of the agents on its nodes.
#pragma once

#include "record/cut/cut_streams.h"
#include "stream/spool_reader.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace belay::record {

// The streams are read twice, piece by piece, once by each function.
class SpoolCut {
  public:
    // Errors: kBadInput if a spool is not there or holds no stream, or nothing is known of the job; kSystem.
    static core::Result<SpoolCut> plan(const std::vector<std::filesystem::path>& spools,
                                       const CutRequest& request);
    // Makes the record, not sealed. Errors: kBadInput if there is a record already; kSystem, also if the
    // spools lost blocks since they were read. What was made is taken away again then.
    core::Result<CutDone> write(const std::filesystem::path& record, core::Time now) {
        return streams_.write(record, now);
    }

  private:
    SpoolCut() = default;

    std::vector<std::unique_ptr<stream::SpoolReader>> readers_;
    StreamsCut streams_;
};

}  // namespace belay::record
