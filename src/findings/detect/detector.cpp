#include "findings/detect/detector.h"

#include "findings/detect/dips.h"
#include "findings/detect/ranks.h"
#include "findings/detect/trend.h"

#include <algorithm>

namespace belay::findings {

namespace {

using Name = std::string_view;

constexpr Name kValue[] = {"time", "value"};
constexpr Name kPeer[] = {"value"};
constexpr Name kSteps[] = {"time", "task", "step"};
constexpr Name kHang[] = {"time", "task", "step", "run_end", "activity", "traffic"};

constexpr DetectorParameter kStall[] = {
    {"low", "", 0.3, "a value below it belongs to a dip"},
    {"least_seconds", "s", 2, "shorter dips do not count"},
    {"dip_share", "ratio", 0.1, "share of the time in dips from which on it is a finding"},
    {"overlap", "ratio", 0.6, "share of the dips in which data was waited for"},
    {"io_pressure", "ratio", 0.2, "share of time in which some task waited for I/O"},
    {"reads_factor", "", 2, "reads in a dip over the usual ones"},
    {"least_reads", "B/s", 1e6, "fewer bytes read explain nothing"},
    {"alone_reads", "B/s", 1e18, "bytes read where more than 0.9 of the time is in dips"},
};
constexpr DetectorParameter kLoader[] = {
    {"low", "", 0.3, "a value below it belongs to a dip"},
    {"least_seconds", "s", 2, "shorter dips do not count"},
    {"dip_share", "ratio", 0.1, "share of the time in dips from which on it is a finding"},
    {"overlap", "ratio", 0.6, "share of the dips in which the CPUs were busy"},
    {"busy", "ratio", 0.9, "share of the allotted CPUs in use"},
};
constexpr DetectorParameter kPause[] = {
    {"low", "", 0.3, "a value below it belongs to a pause"},
    {"least_seconds", "s", 1, "shorter pauses do not count"},
    {"least_pauses", "", 3, "pauses"},
    {"variation", "ratio", 0.2, "coefficient of variation of the time between pauses, at most"},
    {"cost_share", "ratio", 0.05, "share of the time in pauses"},
    {"bursts", "ratio", 0.6,
     "share of the pauses in which 1 MiB or more was written, more than read and than usual"},
};
constexpr DetectorParameter kLeak[] = {
    {"rising_share", "ratio", 0.8, "share of the bins that are higher than the one before"},
    {"window_seconds", "s", 1800, "growth is told for this time"},
    {"limit_share", "ratio", 0.1, "growth in the window, of the limit"},
    {"own_share", "ratio", 0.3, "or growth over the run, of what it began with"},
    {"least_bytes", "B", 5e7, "less growth is not a finding"},
};
constexpr DetectorParameter kChange[] = {
    {"deviations", "", 4, "difference of the medians over the spread within"},
    {"change_share", "ratio", 0.2, "increase, of what it was before"},
    {"least_points", "", 10, "values on each side"},
    {"rising_share", "ratio", 0.8,
     "or it grew all the time: share of the bins that are higher than the one before"},
    {"kept", "ratio", 0.9, "activity after it, of that before, from which on it is only noted"},
};
constexpr DetectorParameter kOutlier[] = {
    {"side", "", 0, "-1: lower than the peers, 1: higher, 0: either"},
    {"deviations", "", 3.5, "distance from the median over the spread"},
    {"difference_share", "ratio", 0.05, "distance from the median, of it"},
    {"least_peers", "", 3, "with fewer there is no telling"},
};
constexpr DetectorParameter kStraggler[] = {
    {"last_share", "ratio", 0.6, "share of the steps at which it comes last"},
    {"lag_share", "ratio", 0.1, "how much later than the others, of a step"},
    {"rounds", "", 5, "parts of the run, in each of which it is so"},
    {"least_steps", "", 20, "steps"},
    {"least_ranks", "", 2, "ranks"},
};
constexpr DetectorParameter kHangParameters[] = {
    {"steps", "", 10, "time without a step, in median steps"},
    {"most_seconds", "s", 600, "and this time, or less in a short run:"},
    {"run_share", "ratio", 0.25, "this share of it,"},
    {"least_seconds", "s", 15, "but at least this"},
    {"least_steps", "", 5, "steps before"},
    {"idle_share", "ratio", 0.2, "activity after the last step, of that before"},
    {"flat", "ratio", 0.02, "or its coefficient of variation"},
    {"nearly_flat", "ratio", 0.1, "which may be this where others are idle"},
    {"silent_share", "ratio", 0.05, "or traffic, of that before"},
    {"least_traffic", "B/s", 1e5, "less traffic before tells nothing"},
};

constexpr Detector kDetectors[] = {
    {"data_stall", "dips in which data was read or waited for", kValue, kStall, kStallColumns,
     detect_data_stall},
    {"loader_stall", "dips in which the CPUs were busy", kValue, kLoader, kStallColumns, detect_loader_stall},
    {"pauses", "dips at regular times in which much was written", kValue, kPause, kPauseColumns,
     detect_pauses},
    {"leak", "bytes that grow and do not stop growing", kValue, kLeak, kLeakColumns, detect_leak},
    {"change", "a value that went up at one moment and stayed there, or grew all the time", kValue, kChange,
     kChangeColumns, detect_change},
    {"outlier", "one among peers that differs from them", kPeer, kOutlier, kOutlierColumns, detect_outlier},
    {"straggler", "the same rank comes last step after step", kSteps, kStraggler, kStragglerColumns,
     detect_straggler},
    {"hang", "no step any more, and nothing goes on", kHang, kHangParameters, kHangColumns, detect_hang},
};

}  // namespace

std::span<const Detector> detectors() {
    return kDetectors;
}

const Detector* find_detector(std::string_view name) {
    const auto* found = std::ranges::find(kDetectors, name, &Detector::name);
    return found != std::end(kDetectors) ? found : nullptr;
}

}  // namespace belay::findings
