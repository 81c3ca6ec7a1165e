// The record of a job out of streams, wherever their pieces come from.
//
//   StreamsCut cut;
//   for (auto& source : sources) BELAY_TRY(is_taken, cut.add(std::move(source)));   // reads it once
//   BELAY_CHECK(cut.plan({.job_id = 7}));
//   BELAY_TRY(done, cut.write(path, now));                                          // and once more
#pragma once

#include "record/cut/cut.h"
#include "record/cut/lost_places.h"
#include "record/cut/piece_source.h"
#include "stream/segment.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

struct CutDone {
    std::vector<std::string> nodes;
    uint64_t rows = 0;
    std::vector<stream::Lost> lost;  // of the streams: damage, and files and streams that were left out
};

// Not thread-safe.
class StreamsCut {
  public:
    // First pass. False where nothing of the stream is used, since no agent can have written it: lost() says why.
    // Errors: as of PieceSource::read.
    core::Result<bool> add(std::unique_ptr<PieceSource> source);
    // What could not be read so far. A caller may add what it knows to be missing.
    LostPlaces& lost() { return lost_; }

    // After the last stream. Errors: kBadInput if nothing is known of the job.
    core::Result<> plan(const CutRequest& request);
    // Once plan() has succeeded.
    const Cut& cut() const { return *cut_; }

    using Amend = std::function<void(Manifest& manifest)>;
    // Makes the record, not sealed; `amend` may say more of the job. Errors: kBadInput if there is a record already;
    // kSystem, also if a source lost blocks since it was read. What was made is taken away again then.
    core::Result<CutDone> write(const std::filesystem::path& record, core::Time now,
                                const Amend& amend = nullptr);

  private:
    class Writing;
    core::Result<std::optional<StreamFacts>> learn(PieceSource& source);

    std::vector<std::unique_ptr<PieceSource>> sources_;
    std::vector<StreamFacts> facts_;  // of each source, until plan() takes them
    LostPlaces lost_;
    std::unique_ptr<stream::UnpackBudget> budget_ = std::make_unique<stream::UnpackBudget>();
    FactsRoom room_;
    std::optional<Cut> cut_;
};

}  // namespace belay::record
