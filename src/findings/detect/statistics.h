// Statistics that a few wild values do not move. NaN is missing and passed over; nothing to go by gives NaN.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace belay::findings {

std::vector<double> without_missing(std::span<const double> values);

double mean(std::span<const double> values);
double median(std::span<const double> values);
// Median absolute deviation times 1.4826, the standard deviation of what is normal (Rousseeuw and Croux
// 1993).
double spread(std::span<const double> values);
// Standard deviation over mean.
double variation(std::span<const double> values);

// Slope per unit of `times` by Theil and Sen: the median of the slopes between all pairs, of at most
// kMostPoints points evenly taken (Sen 1968, doi:10.1080/01621459.1968.10480934).
inline constexpr size_t kMostPoints = 200;
double theil_sen(std::span<const double> times, std::span<const double> values);

// Medians of `bins` equal spans of time, NaN for a bin without a value.
std::vector<double> bin_medians(std::span<const double> times, std::span<const double> values, size_t bins);
// Share of neighbouring bins that rise, of those where both are known.
double rising_share(std::span<const double> bins);

// The split into two parts whose medians leave the least of the values; `least` values on each side.
struct ChangePoint {
    size_t index = 0;   // first value of the second part; 0: none
    double before = 0;  // medians
    double after = 0;
    double deviations = 0;  // |after - before| over the spread within
};
ChangePoint change_point(std::span<const double> values, size_t least);

// Correlation of the series with itself `lag` later, -1 to 1; missing values count as the mean.
double autocorrelation(std::span<const double> values, size_t lag);
// Of these lags, from 2 to a third of the length, the one with the highest autocorrelation that is a peak; 0
// if none is.
size_t strongest_period(std::span<const double> values, std::span<const size_t> lags);

}  // namespace belay::findings
