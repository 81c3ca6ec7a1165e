#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace belay::findings {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kNormal = 1.4826;

// Of values that hold no NaN and may be reordered.
double median_of(std::vector<double>& values) {
    if (values.empty()) return kMissing;
    auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double spread_about(std::span<const double> values, double centre) {
    std::vector<double> distances;
    for (double value : values)
        if (!std::isnan(value)) distances.push_back(std::abs(value - centre));
    return kNormal * median_of(distances);
}

double distance_from(std::span<const double> values, double centre) {
    double sum = 0;
    for (double value : values) sum += std::abs(value - centre);
    return sum;
}

}  // namespace

std::vector<double> without_missing(std::span<const double> values) {
    std::vector<double> out;
    std::ranges::copy_if(values, std::back_inserter(out), [](double value) { return !std::isnan(value); });
    return out;
}

double mean(std::span<const double> values) {
    double sum = 0;
    size_t count = 0;
    for (double value : values)
        if (!std::isnan(value)) {
            sum += value;
            ++count;
        }
    return count > 0 ? sum / static_cast<double>(count) : kMissing;
}

double median(std::span<const double> values) {
    std::vector<double> known = without_missing(values);
    return median_of(known);
}

double spread(std::span<const double> values) {
    return spread_about(values, median(values));
}

double variation(std::span<const double> values) {
    std::vector<double> known = without_missing(values);
    double centre = mean(known);
    if (known.size() < 2 || centre == 0) return kMissing;
    double squares = 0;
    for (double value : known) squares += (value - centre) * (value - centre);
    return std::sqrt(squares / static_cast<double>(known.size())) / std::abs(centre);
}

double theil_sen(std::span<const double> times, std::span<const double> values) {
    std::vector<std::pair<double, double>> points;
    for (size_t i = 0; i < std::min(times.size(), values.size()); ++i)
        if (!std::isnan(values[i])) points.emplace_back(times[i], values[i]);
    size_t stride = points.size() / kMostPoints + 1;
    std::vector<double> slopes;
    for (size_t i = 0; i < points.size(); i += stride)
        for (size_t j = i + stride; j < points.size(); j += stride)
            if (points[j].first > points[i].first)
                slopes.push_back((points[j].second - points[i].second) / (points[j].first - points[i].first));
    return median_of(slopes);
}

std::vector<double> bin_medians(std::span<const double> times, std::span<const double> values, size_t bins) {
    std::vector<double> out(bins, kMissing);
    if (times.empty() || bins == 0) return out;
    double first = times.front();
    double width = (times.back() - first) / static_cast<double>(bins);
    if (!(width > 0)) return out;
    std::vector<std::vector<double>> parts(bins);
    for (size_t i = 0; i < std::min(times.size(), values.size()); ++i)
        if (!std::isnan(values[i]))
            parts[std::min(bins - 1, static_cast<size_t>((times[i] - first) / width))].push_back(values[i]);
    for (size_t i = 0; i < bins; ++i) out[i] = median_of(parts[i]);
    return out;
}

double rising_share(std::span<const double> bins) {
    size_t rising = 0;
    size_t known = 0;
    for (size_t i = 1; i < bins.size(); ++i) {
        if (std::isnan(bins[i]) || std::isnan(bins[i - 1])) continue;
        ++known;
        if (bins[i] > bins[i - 1]) ++rising;
    }
    return known > 0 ? static_cast<double>(rising) / static_cast<double>(known) : kMissing;
}

ChangePoint change_point(std::span<const double> values, size_t least) {
    ChangePoint best;
    std::vector<double> known = without_missing(values);
    least = std::max<size_t>(least, 2);
    if (known.size() != values.size() || known.size() < 2 * least) return best;
    // The split at which the two medians leave the least (absolute deviations; medians cost n log n for each
    // split, so at most kMostPoints of them are looked at).
    size_t stride = known.size() / kMostPoints + 1;
    double least_left = std::numeric_limits<double>::infinity();
    for (size_t split = least; split + least <= known.size(); split += stride) {
        std::span<const double> left = values.first(split);
        std::span<const double> right = values.subspan(split);
        double before = median(left);
        double after = median(right);
        double rest = distance_from(left, before) + distance_from(right, after);
        if (!(rest < least_left)) continue;
        least_left = rest;
        best = {split, before, after, 0};
    }
    std::span<const double> left = values.first(best.index);
    std::span<const double> right = values.subspan(best.index);
    double weight = static_cast<double>(best.index) / static_cast<double>(known.size());
    double within = weight * spread_about(left, best.before) + (1 - weight) * spread_about(right, best.after);
    // Of exactly equal values any difference is a change; it is told in terms of the values then.
    double unit = std::max(within, 1e-6 * (std::abs(best.before) + std::abs(best.after)) / 2);
    if (best.before == best.after || unit == 0) return {};
    best.deviations = std::abs(best.after - best.before) / unit;
    return best;
}

double autocorrelation(std::span<const double> values, size_t lag) {
    double centre = mean(values);
    if (std::isnan(centre) || lag >= values.size()) return kMissing;
    auto off = [&](size_t i) { return std::isnan(values[i]) ? 0.0 : values[i] - centre; };
    double own = 0;
    double shifted = 0;
    for (size_t i = 0; i < values.size(); ++i) own += off(i) * off(i);
    for (size_t i = 0; i + lag < values.size(); ++i) shifted += off(i) * off(i + lag);
    if (own == 0) return kMissing;
    // Fewer products for a longer lag would pass for a weaker likeness.
    double scale = static_cast<double>(values.size()) / static_cast<double>(values.size() - lag);
    return std::clamp(shifted / own * scale, -1.0, 1.0);
}

size_t strongest_period(std::span<const double> values, std::span<const size_t> lags) {
    size_t best = 0;
    double highest = 0;
    for (size_t lag : lags) {
        if (lag < 2 || lag > values.size() / 3) continue;
        double here = autocorrelation(values, lag);
        if (!(here > highest)) continue;
        if (here > autocorrelation(values, lag - 1) && here >= autocorrelation(values, lag + 1)) {
            best = lag;
            highest = here;
        }
    }
    return best;
}

}  // namespace belay::findings
