// The record of a job as a cut of node streams: what each stream holds of the job, by interval, process and
// device.
//
//   std::vector<StreamFacts> streams = …;                       // each has seen all batches of its stream
//   BELAY_TRY(cut, Cut::plan(std::move(streams), {.job_id = 7}));
//   for each stream i and batch:   cut.rows(i, batch)             // what of it is the job's
//   for each node:                 cut.facts(node)                // allocation, devices, and coverage
//   counted anew
//
// Pure: a function of batches and intervals.
#pragma once

#include "core/error.h"
#include "record/cut/intervals.h"
#include "record/cut/stream_facts.h"
#include "record/manifest.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

struct CutRequest {
    int64_t job_id = 0;
    std::optional<std::string> step = {};  // a number, "batch", "interactive"; nothing: all of the job
    std::optional<int64_t> restart = {};   // nothing: the last run
    // Slurm uses numbers again: of several jobs that had this one, the job whose steps began within this time.
    std::optional<Interval> within = {};
    // When the job ended, where that is known: a step of which no end was seen ended then.
    std::optional<core::Time> ended = {};
};

class Cut {
  public:
    // Errors: kBadInput if no stream knows of the job, or of the step.
    static core::Result<Cut> plan(std::vector<StreamFacts> streams, const CutRequest& request);

    // The rows of a batch that are the job's; none of the tables that facts() gives. A stream that was begun
    // on the same node later takes over from its beginning.
    stream::Batch rows(size_t stream, const stream::Batch& batch) const;
    // Rows of allocation, gpu_device, coverage, and an event for each stream that is damaged.
    std::vector<stream::Batch> facts(const std::string& node) const;
    // Whether a stream may have rows of the job.
    bool concerns(size_t stream) const;
    Manifest manifest() const;
    const std::vector<StreamFacts>& streams() const { return streams_; }
    std::vector<std::string> nodes() const;

  private:
    struct Node {
        std::vector<size_t> streams;                 // by their beginning
        std::vector<Share> shares;                   // each once
        Intervals held;                              // by the job
        std::map<std::string, Intervals> devices;    // likewise, each that it held
        std::map<std::string, stream::Batch> known;  // all devices, with their rows in gpu_device
        Interval counted_in;                         // open shares count until the last row
    };
    static constexpr core::Time kOpen = core::Time::max();

    explicit Cut(std::vector<StreamFacts> streams) : streams_(std::move(streams)) {}
    void sort_streams();
    bool choose_run();
    void take_shares(Node& node);
    bool is_of_job(const Share& share) const;
    bool is_wanted(const Share& share) const;
    bool is_ours(const Node& node, const stream::Batch& batch, size_t row) const;
    void add_allocation(const Node& node, const std::string& name, stream::Batch& rows) const;
    void add_devices(const Node& node, stream::Batch& rows) const;
    void add_coverage(const Node& node, const std::string& name, const schema::Table& table,
                      stream::Batch& rows) const;
    std::vector<CountedSpan> spans_of(const Node& node, const schema::Table& table) const;

    std::vector<StreamFacts> streams_;
    CutRequest request_;
    std::map<std::string, Node> nodes_;  // on which the job was
    std::vector<core::Time> until_;      // of each stream: when another took over
    std::optional<Interval> run_;        // of process rows, where the job ran more than once
};

}  // namespace belay::record
