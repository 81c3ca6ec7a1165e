// `belay record cut`: the record of a job out of the spools of the agents on its nodes.
#pragma once

#include "record/cut/cut.h"
#include "record/cut/lost_places.h"
#include "stream/segment.h"
#include "stream/spool_reader.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

struct CutDone {
    std::vector<std::string> nodes;
    uint64_t rows = 0;
    std::vector<stream::Lost> lost;  // of the spools: damage, and files and streams that were left out
};

// The streams are read twice, piece by piece, once by each function.
class SpoolCut {
  public:
    // Errors: kBadInput if a spool is not there or holds no stream, or nothing is known of the job; kSystem.
    static core::Result<SpoolCut> plan(const std::vector<std::filesystem::path>& spools,
                                       const CutRequest& request);
    // Makes the record, not sealed. Errors: kBadInput if there is a record already; kSystem, also if the
    // spools lost blocks since they were read. What was made is taken away again then.
    core::Result<CutDone> write(const std::filesystem::path& record, core::Time now);

  private:
    // A stream, and what of it is read in both passes.
    struct Source {
        stream::SpoolReader* spool = nullptr;
        stream::Cursor begin;
        stream::Cursor end;        // where the first pass ended
        uint64_t gone_blocks = 0;  // that it did not find
    };
    class Writing;

    SpoolCut() = default;
    core::Result<> learn_all(stream::SpoolReader& spool, std::vector<StreamFacts>& facts);
    core::Result<std::optional<StreamFacts>> learn(Source& source);

    std::vector<std::unique_ptr<stream::SpoolReader>> readers_;
    std::vector<Source> sources_;
    LostPlaces lost_;
    std::unique_ptr<stream::UnpackBudget> budget_ = std::make_unique<stream::UnpackBudget>();
    FactsRoom room_;
    std::optional<Cut> cut_;
};

}  // namespace belay::record
