#include "findings/detect/ranks.h"

#include "findings/detect/series.h"
#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace belay::findings {

namespace {

struct Arrival {
    double time;
    size_t rank;  // index into the series
};

// Of one step: who came last, and how long after the median of the others.
struct Step {
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
        out.push_back({all.back().time, all.back().rank, all.back().time - median(others)});
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

}  // namespace

record::QueryResult detect_outlier(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kOutlierColumns);
    auto column = static_cast<size_t>(std::ranges::find(rows.columns, "value") - rows.columns.begin());
    auto text = [&](const std::vector<record::Value>& row, std::string_view name) {
        auto at = static_cast<size_t>(std::ranges::find(rows.columns, name) - rows.columns.begin());
        return at < row.size() ? record::as_text(row[at]) : std::string();
    };
    std::vector<double> values;
    for (const auto& row : rows.rows) values.push_back(record::as_double(row.at(column)));
    double usual = median(values);
    size_t peers = without_missing(values).size();
    if (static_cast<double>(peers) < parameters["least_peers"]) return out.take();
    // Peers that are all the same have no spread: what differs by the least share that counts is far off
    // then.
    double unit = std::max(spread(values), std::abs(usual) * parameters["difference_share"] /
                                               std::max(parameters["deviations"], 1.0));
    std::vector<std::pair<double, size_t>> found;
    for (size_t i = 0; i < values.size(); ++i) {
        double difference = (values[i] - usual) * (parameters["side"] < 0 ? -1 : 1);
        if (parameters["side"] == 0) difference = std::abs(difference);
        if (difference >= parameters["difference_share"] * std::abs(usual) &&
            difference >= parameters["deviations"] * unit && difference > 0)
            found.emplace_back(-difference, i);
    }
    std::ranges::sort(found);
    for (auto [worst, i] : found) {
        Series entity{text(rows.rows[i], "node"), text(rows.rows[i], "device"), {}, {}, {}};
        out.add(entity, 0, 0);
        out.set("value", values[i]);
        out.set("peers_value", usual);
        out.set("difference_share", (values[i] - usual) / std::abs(usual));
        out.set("deviations", std::abs(values[i] - usual) / unit);
        out.set("peers", static_cast<double>(peers - 1));
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
    for (size_t i = 1; i < steps.size(); ++i) lengths.push_back(steps[i].time - steps[i - 1].time);
    Blame suspect = blame(steps, ranks.size());
    double lag_share = suspect.lag / median(lengths);
    if (suspect.share < parameters["last_share"] || !(lag_share >= parameters["lag_share"]) ||
        !lasts(steps, ranks.size(), suspect, parameters))
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
