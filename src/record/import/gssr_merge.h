// All rows that a recording of gssr-record has of one node, in order of time and each once, whichever steps
// they come from. Holds one row per open file, so a node of any length can be read.
//
// gssr-record sleeps a second, then reads, then writes the second that it is: now and then it skips one, and
// the next row covers both (docs/decisions/0007). It is then given to each of them.
#pragma once

#include "record/import/gssr_plan.h"
#include "record/import/record_builder.h"

#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

namespace belay::record {

// Sums that say whether the energy of a recording agrees with its power.
struct EnergyCheck {
    double counted_joules = 0;  // from differences of the counter
    double power_joules = 0;    // mean power × time, of the same rows
};

class GssrMerge {
  public:
    // `gpus`: those that are wanted; empty for all.
    GssrMerge(const std::vector<PlannedStep>& steps, int64_t rank, core::Duration spacing,
              std::span<const int64_t> gpus);

    // Adds the next rows to the batch, some thousands of them; false at the end. Errors: kSystem.
    core::Result<bool> add_some(stream::Batch& rows);

    // After the end: the node with what was received, what was wrong with its files.
    HeldNode& node() { return node_; }
    std::vector<Defect>& defects() { return defects_; }
    const EnergyCheck& energy() const { return energy_; }
    uint64_t bytes() const { return bytes_; }

  private:
    struct Source {
        const PlannedStep* step;
        const PlannedFile* file;
        std::optional<GssrRows> rows = {};
        GssrRow row = {};          // to be taken next
        core::Time latest = {};    // of the rows that were had, of any GPU
        core::Time before = {};    // of those before `latest`
        int64_t skips = 0;         // rows that cover a time before theirs, too
        int64_t told_before = 0;   // rows of a time that another step has
        int64_t repeated = 0;      // of a time that the file had already
        int64_t out_of_order = 0;  // of a time before the row before
        uint64_t bytes = 0;        // counted in bytes_
    };
    struct Gpu {
        std::string device;
        std::optional<core::Time> last;
        const Source* last_of = nullptr;  // whose row that was
        double millijoules = kMissing;
        size_t span = 0;  // in which the last row lay
    };
    using Entry = std::pair<core::Time, size_t>;  // of the source's next row; the earlier source first

    core::Result<> advance(size_t which);
    void close(Source& source);
    void take(Source& source, core::Time time, stream::Batch& rows);
    // Of which time before it a row tells.
    core::Duration length_of(const Source& source, core::Time time) const;
    bool is_skip(core::Duration length) const;
    void count(Gpu& gpu, std::vector<HeldSpan>& spans, core::Time time);
    void check_energy(const GssrRow& row, core::Duration length);

    HeldNode node_;
    core::Duration spacing_;
    std::vector<int64_t> wanted_;
    std::vector<Source> sources_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next_;
    std::map<int64_t, Gpu> gpus_;
    EnergyCheck energy_;
    std::vector<Defect> defects_;
    uint64_t bytes_ = 0;
};

}  // namespace belay::record
