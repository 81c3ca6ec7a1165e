// The record of a job out of what belayd has stored.
//
//   BELAY_TRY(done, cut_from_blocks(intake, {.cluster = "alps", .id = 4711, .nodes = {"n1", "n2"}, .range = {start, end}},
//                                   path, now));
#pragma once

#include "core/error.h"
#include "record/cut/cut_streams.h"
#include "record/manifest.h"
#include "server/blocks/intake.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::server {

struct JobToCut {
    std::string cluster;  // streams of other clusters do not count
    int64_t id = 0;
    int64_t restart = 0;
    std::vector<std::string> nodes;  // on which it was
    TimeRange range;                 // from its beginning up to its end
    bool is_over = true;             // else it runs on after the range
    record::JobFacts told = {};      // what Slurm says of it; what it does not say is empty
};

// Clocks of nodes and of Slurm, which tells whole seconds, may differ by this: of two jobs of one number, between which there is
// twice as much, each gets what is its own.
inline constexpr core::Duration kClockSlack = std::chrono::seconds(10);

// Makes a record that is not sealed, of rows of this job alone: of another that has the same number at another time there are none.
// What Slurm says stands in the manifest in place of what the streams say. Nodes of which nothing was uploaded, and blocks
// that are missing in the job's time, stand among what is lost; where blocks are missing, coverage is counted by the rows
// that are there. Errors: kBadInput if no stream knows of the job (kNotFound), without nodes, for a range that ends before it
// begins, and if there is a record already; kSystem. Nothing is left of the record then.
core::Result<record::CutDone> cut_from_blocks(Intake& intake, const JobToCut& job,
                                              const std::filesystem::path& record, core::Time now);

// What is wanted of a node's streams: those of the cluster that have rows of `range`, with some around it. Blocks that are missing in
// `needed` are to count as damage.
struct WantedStreams {
    std::string cluster;
    std::string node;
    TimeRange range;
    TimeRange needed;
};
// Gives the sources; each is read twice, one after the other.
using StreamSources =
    std::function<core::Result<std::vector<std::unique_ptr<record::PieceSource>>>(const WantedStreams&)>;

// Those of the block log. The intake outlives it.
StreamSources sources_in(const Intake& intake);
// The same from wherever the rows are.
core::Result<record::CutDone> cut_from(const StreamSources& sources, const JobToCut& job,
                                       const std::filesystem::path& record, core::Time now);

}  // namespace belay::server
