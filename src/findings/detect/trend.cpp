#include "findings/detect/trend.h"

#include "findings/detect/series.h"
#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace belay::findings {

namespace {

constexpr double kBinSeconds = 300;  // the catalogue's 5 minutes
constexpr size_t kLeastBins = 10;
constexpr size_t kMostBins = 60;
constexpr double kStillRising =
    0.5;  // of the overall slope in the last third: else it is a warm-up's plateau

bool is_leak(const Growth& growth, double seconds, double limit, const Parameters& parameters) {
    double grown = growth.last - growth.first;
    if (!(growth.rising >= parameters["rising_share"]) || !(growth.slope > 0) ||
        !(grown >= parameters["least_bytes"]) || !(growth.late_slope >= kStillRising * growth.slope))
        return false;
    // A short run is judged by where it leads to in the window; a long one by what it came to as well.
    double in_window = growth.slope * parameters["window_seconds"];
    bool much_of_limit = limit > 0 && in_window >= parameters["limit_share"] * limit;
    bool much_of_own = grown >= parameters["own_share"] * growth.first;
    return (much_of_limit || much_of_own) && seconds > 0;
}

// Where a series ends: the median of its last part; NaN where nothing is known of it.
double level_at_end(std::span<const double> times, std::span<const double> values) {
    const size_t count = std::min(times.size(), values.size());
    const std::vector<double> known =
        without_missing(bin_medians(times.first(count), values.first(count), kLeastBins));
    return known.empty() ? std::nan("") : known.back();
}

}  // namespace

Growth growth_of(std::span<const double> times, std::span<const double> values) {
    Growth growth;
    const size_t count = std::min(times.size(), values.size());
    if (count < kLeastBins) return growth;
    double seconds = times[count - 1] - times[0];
    auto bins = std::clamp(static_cast<size_t>(seconds / kBinSeconds), kLeastBins, kMostBins);
    std::vector<double> medians = bin_medians(times.first(count), values.first(count), bins);
    std::vector<double> known = without_missing(medians);
    if (known.size() < kLeastBins / 2) return growth;
    growth.slope = theil_sen(times, values);
    growth.rising = rising_share(medians);
    growth.first = known.front();
    growth.last = known.back();
    size_t late = count - count / 3;
    growth.late_slope = theil_sen(times.subspan(late, count - late), values.subspan(late, count - late));
    return growth;
}

record::QueryResult detect_leak(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kLeakColumns);
    for (const Series& series : split_series(rows)) {
        Growth growth = growth_of(series.times, series["value"]);
        double limit = median(series["limit"]);
        double seconds = series.times.empty() ? 0 : series.times.back() - series.times.front();
        if (!is_leak(growth, seconds, limit, parameters)) continue;
        out.add(series, series.times.front(), series.times.back());
        out.set("bytes_per_second", growth.slope);
        out.set("growth_bytes", growth.last - growth.first);
        out.set("last_bytes", growth.last);
        out.set("rising_share", growth.rising);
        out.set("limit_bytes", limit);
        // Others may use what the limit is of as well.
        const double used = level_at_end(series.times, series["used"]);
        if (limit > 0)
            out.set("left_seconds",
                    std::max(0.0, limit - (std::isnan(used) ? growth.last : used)) / growth.slope);
    }
    return out.take();
}

namespace {

// Where a series went up: at one moment, or from its beginning to its end.
struct Increase {
    size_t index = 0;  // from which on it counts as higher
    double before = 0;
    double after = 0;
};

std::optional<Increase> increase_of(const Series& series, const std::vector<double>& values,
                                    const Parameters& parameters) {
    const ChangePoint change = change_point(values, static_cast<size_t>(parameters["least_points"]));
    const auto is_enough = [&](double before, double after) {
        return after - before >= parameters["change_share"] * std::abs(before);
    };
    if (change.index != 0 && change.deviations >= parameters["deviations"] &&
        is_enough(change.before, change.after))
        return Increase{change.index, change.before, change.after};
    const Growth growth = growth_of(series.times, values);
    if (growth.rising >= parameters["rising_share"] && is_enough(growth.first, growth.last))
        return Increase{values.size() / 2, growth.first, growth.last};
    return std::nullopt;
}

}  // namespace

record::QueryResult detect_change(const record::QueryResult& rows, const Parameters& parameters) {
    Rows out(kChangeColumns);
    for (const Series& series : split_series(rows)) {
        const std::vector<double> values = without_missing(series["value"]);
        if (values.size() != series.times.size()) continue;
        const auto increase = increase_of(series, values, parameters);
        if (!increase) continue;
        out.add(series, series.times[increase->index], series.times.back());
        out.set("before", increase->before);
        out.set("after", increase->after);
        out.set("change_share", (increase->after - increase->before) / std::abs(increase->before));
        const std::span<const double> activity = series["activity"];
        if (activity.empty()) continue;
        const double busy_before = median(without_missing(activity.first(increase->index)));
        const double busy_after = median(without_missing(activity.subspan(increase->index)));
        out.set("busy_before", busy_before);
        out.set("busy_after", busy_after);
        // As busy as before: more to do, most likely, and not a wait for something.
        if (busy_after >= parameters["kept"] * busy_before) out.set("severity", std::string_view("info"));
    }
    return out.take();
}

}  // namespace belay::findings
