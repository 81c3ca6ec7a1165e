// How far back in time one sample tells, in sampling intervals: two numbers, since there are two kinds of
// samples.
#pragma once

namespace belay::record {

// Of series (spans.h): samples of counters, of which one in between may be missing. How far a counter went is
// exact over any time, so that its mean over two intervals is true; over more it would hide what happened in
// them, and plots show a gap. The states beside the counters of a sample share its time.
inline constexpr double kLongestStep = 2.5;

// Of GPUs (score/): means over the time since the reading before. Where a row is missing, the record does not
// tell whether that reading was never taken, so that the next mean tells of its time too, or was lost, so
// that nothing does. The model of the score wants bounds that contain the truth whatever is missing: such
// time is not observed, and counts 0 in one of them and 1 in the other. Half an interval is for samples that
// come late. Rows of coverage lie as close, unless one of them is missing (the rule sampling_gap).
inline constexpr double kLongestSample = 1.5;

}  // namespace belay::record
