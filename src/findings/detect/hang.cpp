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
    std::vector<double> gaps;  // between steps, of all ranks
};

// Values of a column before and from a moment on, over all series.
struct Halves {
    std::vector<double> before;
    std::vector<double> after;
};

Halves halves(const std::vector<Series>& nodes, std::string_view column, double from, double moment,
              double settled) {
    Halves out;
    for (const Series& node : nodes) {
        const std::vector<double>& values = node[column];
        for (size_t i = 0; i < values.size(); ++i) {
            if (node.times[i] >= from && node.times[i] < moment) out.before.push_back(values[i]);
            if (node.times[i] >= settled) out.after.push_back(values[i]);
        }
    }
    return out;
}

// Nothing goes on any more: idle, or spinning so evenly that it can be no work, or silent on the fabric that
// was used before. Evaluation, compilation and checkpoints are none of these.
bool is_still(const Halves& activity, const Halves& traffic, const Parameters& parameters) {
    double before = mean(activity.before);
    double after = mean(activity.after);
    if (after <= parameters["idle_share"] * before) return true;
    if (variation(activity.after) <= parameters["flat"] && activity.after.size() >= 10) return true;
    double traffic_before = mean(traffic.before);
    return traffic_before > parameters["least_traffic"] &&
           mean(traffic.after) <= parameters["silent_share"] * traffic_before;
}

}  // namespace

record::QueryResult detect_hang(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kHangColumns);
    std::vector<Series> ranks;
    std::vector<Series> nodes;
    for (Series& series : split_series(rows)) {
        bool has_steps = !without_missing(series["step"]).empty();
        (has_steps ? ranks : nodes).push_back(std::move(series));
    }
    if (ranks.empty()) return out.take();
    Steps steps{.first = ranks[0].times.front(),
                .last = ranks[0].times.back(),
                .run_end = median(ranks[0]["run_end"]),
                .gaps = {}};
    for (const Series& rank : ranks) {
        steps.first = std::min(steps.first, rank.times.front());
        steps.last = std::max(steps.last, rank.times.back());
        for (size_t i = 1; i < rank.times.size(); ++i)
            steps.gaps.push_back(rank.times[i] - rank.times[i - 1]);
    }
    if (static_cast<double>(steps.gaps.size()) < parameters["least_steps"]) return out.take();
    double step = median(steps.gaps);
    double run = steps.run_end - steps.first;
    double limit = std::max({parameters["steps"] * step,
                             std::min(parameters["most_seconds"], parameters["run_share"] * run),
                             parameters["least_seconds"],
                             // an evaluation or a checkpoint as long as one that was seen
                             2 * *std::ranges::max_element(steps.gaps)});
    double quiet = steps.run_end - steps.last;
    if (!(quiet >= limit)) return out.take();
    double settled = steps.last + std::min(quiet / 3, std::max(5 * step, 5.0));
    Halves activity = halves(nodes, "activity", steps.first, steps.last, settled);
    Halves traffic = halves(nodes, "traffic", steps.first, steps.last, settled);
    if (!is_still(activity, traffic, parameters)) return out.take();
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
