#include "findings/detect/ranks.h"
#include "findings/detect/series.h"
#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

namespace {

struct Steps {
    double first = 0;
    double last = 0;
    double run_end = 0;
    std::vector<double> gaps;     // between lines, of all ranks
    std::vector<double> lengths;  // of steps: not every one has a line
};

// Values of a column before a moment and when things had settled after it.
struct Halves {
    std::vector<double> before;
    std::vector<double> after;
};

struct Moments {
    double first;    // step
    double last;     // step
    double settled;  // somewhat later
};

Halves halves(const Series& series, std::string_view column, const Moments& moments) {
    Halves out;
    const std::vector<double>& values = series[column];
    for (size_t i = 0; i < values.size(); ++i) {
        if (series.times[i] >= moments.first && series.times[i] < moments.last)
            out.before.push_back(values[i]);
        if (series.times[i] >= moments.settled) out.after.push_back(values[i]);
    }
    return out;
}

// A rank, or a GPU, after the last step.
enum class State { kUnknown, kIdle, kEven, kNearlyEven, kAlive };

State state_of(const Halves& activity, const Parameters& parameters) {
    double before = mean(activity.before);
    double after = mean(activity.after);
    if (std::isnan(after)) return State::kUnknown;
    if (after <= parameters["idle_share"] * before) return State::kIdle;
    double varies = activity.after.size() >= 10 ? variation(activity.after) : 1;
    if (varies <= parameters["flat"]) return State::kEven;
    return varies <= parameters["nearly_flat"] ? State::kNearlyEven : State::kAlive;
}

// Rows of steps, or those of nodes: outside Slurm a rank has no more of a name than its node.
record::QueryResult rows_with(const record::QueryResult& rows, bool step) {
    record::QueryResult out{.columns = rows.columns, .rows = {}};
    auto column = static_cast<size_t>(std::ranges::find(rows.columns, "step") - rows.columns.begin());
    for (const auto& row : rows.rows)
        if (std::isnan(record::as_double(row.at(column))) != step) out.rows.push_back(row);
    return out;
}

// Nothing goes on any more: all are idle, or spin so evenly that it can be no work, or some are idle while
// the others spin; or the fabric that was used before is silent. Evaluation, compilation and checkpoints are
// none of these.
bool is_still(const std::vector<Series>& all, const Moments& moments, const Parameters& parameters) {
    bool some_idle = false;
    bool all_even = true;
    bool all_nearly_even = true;
    bool any_known = false;
    Halves traffic;
    for (const Series& series : all) {
        Halves here = halves(series, "traffic", moments);
        traffic.before.insert(traffic.before.end(), here.before.begin(), here.before.end());
        traffic.after.insert(traffic.after.end(), here.after.begin(), here.after.end());
        State state = state_of(halves(series, "activity", moments), parameters);
        any_known |= state != State::kUnknown;
        some_idle |= state == State::kIdle;
        all_even &= state <= State::kEven;
        all_nearly_even &= state <= State::kNearlyEven;
    }
    if (any_known && (all_even || (some_idle && all_nearly_even))) return true;
    double before = mean(traffic.before);
    return before > parameters["least_traffic"] && mean(traffic.after) <= parameters["silent_share"] * before;
}

// Of all that can tell, before and after.
Halves activity_of(const std::vector<Series>& all, const Moments& moments) {
    Halves out;
    for (const Series& series : all) {
        Halves here = halves(series, "activity", moments);
        out.before.insert(out.before.end(), here.before.begin(), here.before.end());
        out.after.insert(out.after.end(), here.after.begin(), here.after.end());
    }
    return out;
}

}  // namespace

record::QueryResult detect_hang(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kHangColumns);
    std::vector<Series> ranks = split_series(rows_with(rows, true));
    std::vector<Series> nodes = split_series(rows_with(rows, false));
    if (ranks.empty()) return out.take();
    Steps steps{.first = ranks[0].times.front(),
                .last = ranks[0].times.back(),
                .run_end = median(ranks[0]["run_end"]),
                .gaps = {},
                .lengths = {}};
    for (const Series& rank : ranks) {
        steps.first = std::min(steps.first, rank.times.front());
        steps.last = std::max(steps.last, rank.times.back());
        const std::vector<double>& numbers = rank["step"];
        for (size_t i = 1; i < rank.times.size(); ++i) {
            steps.gaps.push_back(rank.times[i] - rank.times[i - 1]);
            const double count = numbers[i] - numbers[i - 1];
            if (count > 0) steps.lengths.push_back(steps.gaps.back() / count);
        }
    }
    if (static_cast<double>(steps.gaps.size()) < parameters["least_steps"]) return out.take();
    double step = median(steps.lengths.empty() ? steps.gaps : steps.lengths);
    double run = steps.run_end - steps.first;
    double limit = std::max({parameters["steps"] * step,
                             std::min(parameters["most_seconds"], parameters["run_share"] * run),
                             parameters["least_seconds"],
                             // an evaluation or a checkpoint as long as one that was seen
                             2 * *std::ranges::max_element(steps.gaps)});
    double quiet = steps.run_end - steps.last;
    if (!(quiet >= limit)) return out.take();
    Moments moments{steps.first, steps.last, steps.last + std::min(quiet / 3, std::max(5 * step, 5.0))};
    if (!is_still(nodes, moments, parameters)) return out.take();
    Halves activity = activity_of(nodes, moments);
    // The ranks that stopped first: those that the others wait for.
    auto last_step = [](const Series& rank) { return rank["step"].back(); };
    double fewest = last_step(*std::ranges::min_element(ranks, {}, last_step));
    for (const Series& rank : ranks) {
        if (last_step(rank) > fewest) continue;
        out.add(rank, steps.last, steps.run_end);
        out.set("quiet_seconds", quiet);
        out.set("limit_seconds", limit);
        out.set("step_seconds", step);
        out.set("last_step", last_step(rank));
        out.set("activity_before", mean(activity.before));
        out.set("activity_after", mean(activity.after));
        out.set("ranks", static_cast<double>(ranks.size()));
    }
    return out.take();
}

}  // namespace belay::findings
