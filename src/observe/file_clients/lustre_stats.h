// Files of counters as Lustre's clients print them: llite.*.stats, mdc.*.md_stats, mdc.*.stats, osc.*.stats.
// See lustre/obdclass/lprocfs_status.c of Lustre 2.10 to 2.17, lprocfs_stats_seq_show:
//
//   snapshot_time             1790277040.611962111 secs.nsecs
//   start_time                1790008165.367572621 secs.nsecs     since 2.15; since 2.16 it can be switched off
//   elapsed_time              268875.244389490 secs.nsecs         likewise
//   read_bytes                57406355 samples [bytes] 1 4194304 1496254921055 47236230193563213
//   open                      33538615 samples [usecs] 0 36643 3420852446 695595244118
//   getxattr_hits             201 samples [reqs]
//
// Behind the unit stand the least, the greatest, the sum and, of some, the sum of squares. Before 2.14, calls
// have neither times nor sums ("open 12 samples [regs]"), and times of requests are in [usec]. Who writes into
// such a file sets all its counters to 0, and with that start_time to now.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::observe::file_clients {

// Texts point into what was parsed. Nothing for a number that is below 0, beyond 63 bits or none at all.
struct LustreCounter {
    std::string_view name;
    std::string_view unit;  // "bytes", "usecs"
    std::optional<int64_t> samples;
    std::optional<int64_t> sum;
};

struct LustreStats {
    std::optional<core::Time> start_time;  // when all counters were 0
    std::vector<LustreCounter> counters;   // of a name that stands there twice only the first
};

// Replaces the content of `stats`, whose capacity is kept. Errors: kBadInput for a text that does not begin
// with its time, ends within a line, or has more counters than any version of Lustre.
core::Result<> parse_lustre_stats(std::string_view text, LustreStats& stats);

// What is taken of a counter.
enum class LustreMeasure : uint8_t {
    kSamples,
    kBytes,         // the sum of one that counts bytes
    kMicroseconds,  // the sum of one that measures time
};

// The counters of these names, which blanks separate, added up. Lustre leaves out a counter that is 0, so one
// that is not there counts as 0. Nothing where one of them is there without a proper number in that measure,
// and for times in a file that has counters but tells no times at all.
std::optional<int64_t> total(const LustreStats& stats, std::string_view names, LustreMeasure measure);

}  // namespace belay::observe::file_clients
