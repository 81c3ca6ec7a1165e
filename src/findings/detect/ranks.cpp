#include "findings/detect/ranks.h"

#include "findings/detect/series.h"
#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace belay::findings {

namespace {

struct Arrival {
    double time;
    size_t rank;  // index into the series
};

// Of one step: who came last, and how long after the median of the others.
struct Step {
    double number = 0;
    double time = 0;
    size_t last = 0;
    double lag = 0;
};

std::vector<Step> steps_of(const std::vector<Series>& ranks) {
    std::map<double, std::vector<Arrival>> arrivals;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
        const std::vector<double>& steps = ranks[rank]["step"];
        for (size_t i = 0; i < steps.size(); ++i)
            if (!std::isnan(steps[i])) arrivals[steps[i]].push_back({ranks[rank].times[i], rank});
    }
    std::vector<Step> out;
    for (auto& [step, all] : arrivals) {
        std::set<size_t> present;
        for (const Arrival& arrival : all) present.insert(arrival.rank);
        if (present.size() != ranks.size()) continue;
        std::ranges::sort(all, {}, &Arrival::time);
        std::vector<double> others;
        for (size_t i = 0; i + 1 < all.size(); ++i) others.push_back(all[i].time);
        out.push_back({step, all.back().time, all.back().rank, all.back().time - median(others)});
    }
    return out;
}

struct Blame {
    size_t rank = 0;
    double share = 0;  // of the steps at which it came last
    double lag = 0;    // median of these
};

Blame blame(const std::vector<Step>& steps, size_t ranks) {
    std::vector<std::vector<double>> lags(ranks);
    for (const Step& step : steps) lags[step.last].push_back(step.lag);
    auto most = std::ranges::max_element(lags, {}, &std::vector<double>::size);
    return {static_cast<size_t>(most - lags.begin()),
            static_cast<double>(most->size()) / static_cast<double>(steps.size()), median(*most)};
}

// The same rank in each of the rounds into which the steps are cut: an episode is not a straggler.
bool lasts(const std::vector<Step>& steps, size_t ranks, const Blame& suspect, const Parameters& parameters) {
    auto rounds = static_cast<size_t>(parameters["rounds"]);
    for (size_t round = 0; round < rounds; ++round) {
        size_t first = round * steps.size() / rounds;
        size_t end = (round + 1) * steps.size() / rounds;
        Blame here = blame(
            {steps.begin() + static_cast<ptrdiff_t>(first), steps.begin() + static_cast<ptrdiff_t>(end)},
            ranks);
        if (here.rank != suspect.rank || here.share < parameters["last_share"]) return false;
    }
    return true;
}

// Ranks that exchange gradients are never more than a step apart. Where one is later than that in the end, be
// it that it falls behind or that it began later, each runs on its own, and nobody waits.
bool is_waited_for(const std::vector<Step>& steps, double step_seconds) {
    std::vector<double> lags;
    for (size_t i = steps.size() - steps.size() / 4; i < steps.size(); ++i) lags.push_back(steps[i].lag);
    return !(median(lags) > step_seconds);
}

size_t column_of(const record::QueryResult& rows, std::string_view name) {
    return static_cast<size_t>(std::ranges::find(rows.columns, name) - rows.columns.begin());
}

// Empty where there is no such column.
std::string text_of(const record::QueryResult& rows, const std::vector<record::Value>& row,
                    std::string_view name) {
    const size_t at = column_of(rows, name);
    return at < row.size() ? record::as_text(row[at]) : std::string();
}

struct Member {
    const std::vector<record::Value>* row = nullptr;
    double value = 0;
};

struct Outlier {
    const Member* member = nullptr;
    double difference = 0;  // to the side that counts
    double usual = 0;       // median of its peers
    double unit = 0;        // their spread
    size_t peers = 0;
};

// Those of one class that differ from the others of it.
void find_outliers(const std::vector<Member>& members, const Parameters& parameters,
                   std::vector<Outlier>& found) {
    std::vector<double> values;
    for (const Member& member : members) values.push_back(member.value);
    const double usual = median(values);
    const size_t known = without_missing(values).size();
    if (known == 0 || static_cast<double>(known) < parameters["least_peers"]) return;
    // Peers that are all the same have no spread: what differs by the least share that counts is far off
    // then.
    const double unit = std::max(spread(values), std::abs(usual) * parameters["difference_share"] /
                                                     std::max(parameters["deviations"], 1.0));
    for (const Member& member : members) {
        double difference = (member.value - usual) * (parameters["side"] < 0 ? -1 : 1);
        if (parameters["side"] == 0) difference = std::abs(difference);
        if (difference >= parameters["difference_share"] * std::abs(usual) &&
            difference >= parameters["deviations"] * unit && difference > 0)
            found.push_back({&member, difference, usual, unit, known - 1});
    }
}

}  // namespace

record::QueryResult detect_outlier(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kOutlierColumns);
    std::map<std::string, std::vector<Member>> classes;
    const size_t column = column_of(rows, "value");
    for (const auto& row : rows.rows)
        classes[text_of(rows, row, "class")].push_back({&row, record::as_double(row.at(column))});
    std::vector<Outlier> found;
    for (const auto& [name, members] : classes) find_outliers(members, parameters, found);
    std::ranges::stable_sort(found, std::greater(), &Outlier::difference);
    for (const Outlier& outlier : found) {
        const Member& member = *outlier.member;
        Series entity{text_of(rows, *member.row, "node"), text_of(rows, *member.row, "device"), {}, {}, {}};
        out.add(entity, 0, 0);
        out.set("value", member.value);
        out.set("peers_value", outlier.usual);
        out.set("difference_share", (member.value - outlier.usual) / std::abs(outlier.usual));
        out.set("deviations", std::abs(member.value - outlier.usual) / outlier.unit);
        out.set("peers", static_cast<double>(outlier.peers));
    }
    record::QueryResult result = out.take();
    for (auto& row : result.rows) row[0] = row[1] = record::Value();  // the whole run
    return result;
}

record::QueryResult detect_straggler(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kStragglerColumns);
    std::vector<Series> ranks = split_series(rows);
    if (static_cast<double>(ranks.size()) < std::max(2.0, parameters["least_ranks"])) return out.take();
    std::vector<Step> steps = steps_of(ranks);
    if (static_cast<double>(steps.size()) < std::max(parameters["least_steps"], 2 * parameters["rounds"]))
        return out.take();
    std::vector<double> lengths;
    for (size_t i = 1; i < steps.size(); ++i)  // not every step has a line
        lengths.push_back((steps[i].time - steps[i - 1].time) / (steps[i].number - steps[i - 1].number));
    Blame suspect = blame(steps, ranks.size());
    const double step_seconds = median(lengths);
    double lag_share = suspect.lag / step_seconds;
    if (suspect.share < parameters["last_share"] || !(lag_share >= parameters["lag_share"]) ||
        !lasts(steps, ranks.size(), suspect, parameters) || !is_waited_for(steps, step_seconds))
        return out.take();
    out.add(ranks[suspect.rank], steps.front().time, steps.back().time);
    out.set("last_share", suspect.share);
    out.set("lag_seconds", suspect.lag);
    out.set("lag_share", lag_share);
    out.set("steps", static_cast<double>(steps.size()));
    out.set("ranks", static_cast<double>(ranks.size()));
    return out.take();
}

}  // namespace belay::findings
