// Digests the samples of one device, one by one. Pure: what reads them from a record is digest_query.h.
#pragma once

#include "record/series/counter.h"
#include "score/digest.h"
#include "score/gpu_sample.h"
#include "score/job_sums.h"
#include "score/window_block.h"
#include "score/windows.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace belay::score {

// When a device was the job's: intervals in order, without overlap.
using Held = std::vector<std::pair<core::Time, core::Time>>;
// The same time as intervals in order, without overlap.
Held united(Held intervals);

// Of a digest that was kept: sets in `whole` the highest of a series where something else stands there.
void mend_highest(GpuDigest& gpu);

class GpuDigester {
  public:
    // `gpu` has what the device is; the rest of it is filled, by finish() at the latest. Both and `job` must
    // stay where they are. Samples outside `held` are not the job's.
    GpuDigester(GpuDigest& gpu, JobSums& job, const Frame& frame, Held held, Detail detail = Detail::kFull);

    // False if the sample is older than the one before: then the rows are not in order, and the digest is
    // worth nothing. One of the same time is a duplicate and changes nothing.
    bool add(core::Time time, const GpuSample& sample);
    void finish();

  private:
    // Rows of one bucket of time, of which sums are made together.
    struct Block {
        size_t first = 0;  // of which quantities
        size_t end = 0;
        size_t rows = 0;
        size_t bucket = 0;
        core::Time until;  // the bucket's end
        BlockColumn seconds;
    };
    struct WindowRows : Block {
        std::array<core::Time, kBlockRows> ends;
        std::array<core::Duration, kBlockRows> lengths;
        ActivityBlock activity;
        std::array<BlockColumn, kLinks> links;
        BlockColumn power_watts;
        BlockColumn nothing_runs;  // 1 where no process or no kernel is there, else 0
    };
    struct SampleRows : Block {
        std::array<BlockColumn, kQuantities> values;
    };

    bool is_held(core::Time time) const;
    void add_window(const Window& window, const GpuSample& sample, bool idle);
    void add_sample(core::Time time, double seconds, const GpuSample& sample);
    void add_totals(const GpuSample& sample, double energy_joules);
    // Makes the block one of the bucket in which `time` lies, with a row to spare.
    template <typename Rows>
    void make_room(Rows& rows, core::Time time);
    template <typename Rows>
    void complete(Rows& rows);
    void add_up(WindowRows& rows);
    void add_up(SampleRows& rows);
    void add_scores(const WindowRows& rows, const ScoreBlock& scores);
    void add_companions(const WindowRows& rows);
    void add_links(const WindowRows& rows, const ScoreBlock& scores);
    void add_to_job(const WindowRows& rows, const ScoreBlock& scores);
    void add_quantity(size_t quantity, const BlockColumn& values, const Block& rows);

    GpuDigest& gpu_;
    JobSums& job_;
    Frame frame_;
    Held held_;
    core::Duration longest_sample_;
    WindowBuilder builder_;
    std::optional<core::Time> last_;
    GpuSample previous_;       // where several samples make a window
    bool idle_so_far_ = true;  // in all samples of the window in the making
    record::Counter energy_;
    WeightedSum flop_use_;
    WeightedSum pipes_;
    WindowRows windows_;
    SampleRows samples_;
    std::array<WeightedSum, kQuantities> of_bucket_{};  // those in the making
    std::array<WeightedSum, kQuantities> of_all_{};
};

}  // namespace belay::score
