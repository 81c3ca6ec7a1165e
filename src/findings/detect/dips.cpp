#include "findings/detect/dips.h"

#include "findings/detect/series.h"
#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace belay::findings {

namespace {

constexpr double kNothingElse = 0.9;     // share of the time
constexpr double kMostBursts = 0.5;      // of the dips: with more it is checkpoints
constexpr double kLeastBurst = 1 << 20;  // bytes: with less it is a line of a log
constexpr size_t kMostLags = 50;         // each costs a few passes over the series
constexpr double kLeastKnown = 0.5;      // of the time in dips: with less there is no telling

double usual_step(std::span<const double> times) {
    std::vector<double> steps;
    for (size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
    double usual = median(steps);
    return std::isnan(usual) ? 1 : usual;
}

// Seconds for which each sample stands.
std::vector<double> lengths(std::span<const double> times) {
    double usual = usual_step(times);
    std::vector<double> out(times.size(), usual);
    for (size_t i = 0; i + 1 < times.size(); ++i)
        if (times[i + 1] - times[i] <= 2 * usual) out[i] = times[i + 1] - times[i];
    return out;
}

double at(const std::vector<double>& values, size_t i) {
    return i < values.size() ? values[i] : std::nan("");
}

// Whether the values of a series reach `least`: nothing where one is missing.
struct Reaching {
    const std::vector<double>& values;
    double least;
    bool is_measured = !without_missing(values).empty();  // at any time

    std::optional<bool> operator()(size_t i) const {
        const double value = at(values, i);
        return std::isnan(value) ? std::nullopt : std::optional(value >= least);
    }
};
// What was never measured does not make the other unknown.
std::optional<bool> either(const Reaching& a, const Reaching& b, size_t i) {
    const std::optional<bool> one = a(i);
    const std::optional<bool> other = b(i);
    if (one.value_or(false) || other.value_or(false)) return true;
    if ((a.is_measured && !one) || (b.is_measured && !other)) return std::nullopt;
    return one ? one : other;
}

// One series with its dips, and how long both are.
struct Dipping {
    const Series& series;
    const std::vector<double>& values = series["value"];
    std::vector<double> seconds = lengths(series.times);
    std::vector<Dip> dips;
    std::vector<char> is_dip = std::vector<char>(series.times.size(), 0);
    double dip_seconds = 0;
    double known_seconds = 0;

    Dipping(const Series& of, double low, double least_seconds) : series(of) {
        dips = find_dips(series.times, values, low, least_seconds);
        for (const Dip& dip : dips)
            for (size_t i = dip.first; i <= dip.last; ++i) is_dip[i] = 1;
        for (size_t i = 0; i < values.size(); ++i) {
            if (std::isnan(values[i])) continue;
            known_seconds += seconds[i];
            if (is_dip[i] != 0) dip_seconds += seconds[i];
        }
    }
    double share() const { return known_seconds > 0 ? dip_seconds / known_seconds : 0; }

    // Of the time in dips with an answer, the share in which answer(i) is yes; NaN where most has none.
    template <typename Answer>
    double share_of_dips(Answer answer) const {
        double held = 0;
        double known = 0;
        for (size_t i = 0; i < values.size(); ++i) {
            if (is_dip[i] == 0) continue;
            const std::optional<bool> is_so = answer(i);
            if (is_so) known += seconds[i];
            if (is_so.value_or(false)) held += seconds[i];
        }
        return known > 0 && known >= kLeastKnown * dip_seconds ? held / known : std::nan("");
    }
    std::vector<double> in_dips(std::string_view column) const { return select(column, true); }
    std::vector<double> outside(std::string_view column) const { return select(column, false); }

  private:
    std::vector<double> select(std::string_view column, bool inside) const {
        std::vector<double> out;
        const std::vector<double>& all = series[column];
        for (size_t i = 0; i < all.size(); ++i)
            if ((is_dip[i] != 0) == inside) out.push_back(all[i]);
        return out;
    }
};

void describe_stall(Rows& out, const Dipping& dipping, double overlap) {
    out.add(dipping.series, dipping.dips.front().start, dipping.dips.back().end);
    out.set("dip_share", dipping.share());
    out.set("dip_seconds", dipping.dip_seconds);
    out.set("overlap_share", overlap);
    out.set("io_pressure_share", mean(dipping.in_dips("io_pressure")));
    out.set("read_bytes_per_second", mean(dipping.in_dips("reads")));
    out.set("busy_share", mean(dipping.in_dips("busy")));
}

// Share of the dips in which more was written than read, and than usual: then it is a checkpoint that is
// waited for, and not data. One by one, since the stalls of a loader hold a checkpoint now and then.
double share_of_bursts(const Dipping& dipping) {
    const std::vector<double>& writes = dipping.series["writes"];
    const std::vector<double>& reads = dipping.series["reads"];
    double outside = mean(dipping.outside("writes"));
    size_t bursts = 0;
    for (const Dip& dip : dipping.dips) {
        auto part = [&](const std::vector<double>& all) {
            size_t end = std::min(dip.last + 1, all.size());
            return dip.first < end ? mean(std::span(all).subspan(dip.first, end - dip.first)) : std::nan("");
        };
        double written = part(writes);
        double read = part(reads);
        if (written * (dip.end - dip.start) >= kLeastBurst && !(written <= 2 * outside) && !(written <= read))
            ++bursts;
    }
    return static_cast<double>(bursts) / static_cast<double>(dipping.dips.size());
}

// The series up to its last value that is not low: what nothing follows is an end and no pause.
Series until_last(Series series, double low) {
    const std::vector<double>& values = series["value"];
    size_t end = values.size();
    while (end > 0 && !(values[end - 1] >= low)) --end;
    series.times.resize(std::min(end, series.times.size()));
    for (auto& [name, column] : series.columns) column.resize(std::min(end, column.size()));
    return series;
}

std::vector<double> gaps_between(const std::vector<Dip>& dips) {
    std::vector<double> gaps;
    for (size_t i = 1; i < dips.size(); ++i) gaps.push_back(dips[i].start - dips[i - 1].start);
    return gaps;
}

// Samples from one dip to the next, each once; of very many some.
std::vector<size_t> distances_between(const std::vector<Dip>& dips) {
    std::vector<size_t> all;
    for (size_t i = 1; i < dips.size(); ++i) all.push_back(dips[i].first - dips[i - 1].first);
    std::ranges::sort(all);
    const auto [repeated, end] = std::ranges::unique(all);
    all.erase(repeated, end);
    std::vector<size_t> some;
    for (size_t i = 0; i < all.size(); i += 1 + all.size() / kMostLags) some.push_back(all[i]);
    return some;
}

// Whether the dips come at regular times: the gaps vary little, or, where a dip was missed, the dips are like
// themselves a period later, which is how far some of them are apart.
bool is_periodic(const Dipping& dipping, double most_variation) {
    if (variation(gaps_between(dipping.dips)) <= most_variation) return true;
    std::vector<double> marks(dipping.is_dip.begin(), dipping.is_dip.end());
    size_t period = strongest_period(marks, distances_between(dipping.dips));
    return period > 0 && autocorrelation(marks, period) >= 0.6;
}

}  // namespace

std::vector<Dip> find_dips(std::span<const double> times, std::span<const double> values, double low,
                           double least_seconds) {
    std::vector<Dip> dips;
    std::vector<double> seconds = lengths(times);
    const size_t count = std::min(times.size(), values.size());
    for (size_t i = 0; i < count;) {
        if (!(values[i] < low)) {
            ++i;
            continue;
        }
        Dip dip{.first = i, .last = i, .start = times[i], .end = 0};
        double length = 0;
        for (; i < count && values[i] < low; ++i) {
            length += seconds[i];
            dip.last = i;
        }
        dip.end = times[dip.last] + seconds[dip.last];
        if (length >= least_seconds) dips.push_back(dip);
    }
    return dips;
}

record::QueryResult detect_data_stall(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kStallColumns);
    for (const Series& series : split_series(rows)) {
        Dipping dipping(series, parameters["low"], parameters["least_seconds"]);
        if (dipping.dips.empty() || dipping.share() < parameters["dip_share"]) continue;
        if (share_of_bursts(dipping) >= kMostBursts) continue;
        const std::vector<double>& pressure = series["io_pressure"];
        const std::vector<double>& reads = series["reads"];
        // Where hardly anything but dips is left, there is nothing to compare the reads with.
        bool is_alone = dipping.share() > kNothingElse;
        double usual_reads = median(dipping.outside("reads"));
        double many = is_alone || std::isnan(usual_reads)
                          ? parameters["alone_reads"]
                          : std::max(parameters["reads_factor"] * usual_reads, parameters["least_reads"]);
        const Reaching waits{pressure, parameters["io_pressure"]};
        const Reaching read{reads, many};
        double overlap = dipping.share_of_dips([&](size_t i) { return either(waits, read, i); });
        if (overlap >= parameters["overlap"]) describe_stall(out, dipping, overlap);
    }
    return out.take();
}

record::QueryResult detect_loader_stall(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kStallColumns);
    for (const Series& series : split_series(rows)) {
        Dipping dipping(series, parameters["low"], parameters["least_seconds"]);
        if (dipping.dips.empty() || dipping.share() < parameters["dip_share"]) continue;
        double overlap = dipping.share_of_dips(Reaching{series["busy"], parameters["busy"]});
        if (overlap >= parameters["overlap"]) describe_stall(out, dipping, overlap);
    }
    return out.take();
}

record::QueryResult detect_pauses(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kPauseColumns);
    for (const Series& whole : split_series(rows)) {
        const Series series = until_last(whole, parameters["low"]);
        Dipping dipping(series, parameters["low"], parameters["least_seconds"]);
        // What never comes up again has no pauses.
        if (static_cast<double>(dipping.dips.size()) < parameters["least_pauses"] || dipping.share() > 0.8)
            continue;
        if (dipping.share() < parameters["cost_share"] || share_of_bursts(dipping) < parameters["bursts"] ||
            !is_periodic(dipping, parameters["variation"]))
            continue;
        std::vector<double> pauses;
        for (const Dip& dip : dipping.dips) pauses.push_back(dip.end - dip.start);
        out.add(series, dipping.dips.front().start, dipping.dips.back().end);
        out.set("pauses", static_cast<double>(dipping.dips.size()));
        out.set("period_seconds", median(gaps_between(dipping.dips)));
        out.set("pause_seconds", median(pauses));
        out.set("cost_share", dipping.share());
        out.set("written_bytes", mean(dipping.in_dips("writes")) * median(pauses));
    }
    return out.take();
}

}  // namespace belay::findings
