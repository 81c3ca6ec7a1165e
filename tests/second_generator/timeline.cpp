#include "timeline.h"

#include <algorithm>
#include <cmath>

namespace belay::second_generator {

void Second::add(const Second& other) {
    for (size_t i = 0; i < kDoings; ++i) seconds[i] += other.seconds[i];
    read_bytes += other.read_bytes;
    read_wait += other.read_wait;
    request_wait += other.request_wait;
    decoding += other.decoding;
    files += other.files;
    written_bytes += other.written_bytes;
    exchanged_bytes += other.exchanged_bytes;
    in_storage += other.in_storage;
}

Second Timeline::over(int rank, double from, double to) const {
    Second sum;
    const size_t first = static_cast<size_t>(std::max(0.0, std::floor(from + 0.5)));
    const size_t last = std::min(length, static_cast<size_t>(std::max(0.0, std::floor(to + 0.5))));
    for (size_t s = first; s < last; ++s) sum.add(seconds[static_cast<size_t>(rank) * length + s]);
    return sum;
}

namespace {

// Calls `each` with every second that from..to touches and the part of it that is in it.
template <typename Each>
void for_parts(double from, double to, size_t length, Each each) {
    to = std::min(to, static_cast<double>(length));
    while (from < to) {
        const size_t second = static_cast<size_t>(from);
        const double until = std::min(to, static_cast<double>(second + 1));
        each(second, until - from);
        from = until;
    }
}

}  // namespace

void Timeline::add(int rank, Doing doing, double from, double to) {
    if (seconds.empty() || to <= from) return;
    for_parts(std::max(0.0, from), to, length, [&](size_t second, double part) {
        at(rank, second).seconds[static_cast<size_t>(doing)] += static_cast<float>(part);
    });
}

void spread(Timeline& timeline, int rank, float Second::* what, double amount, double from, double to) {
    if (timeline.seconds.empty() || amount <= 0) return;
    from = std::max(0.0, from);
    if (to <= from) to = from + 1e-3;
    const double rate = amount / (to - from);
    for_parts(from, to, timeline.length, [&](size_t second, double part) {
        timeline.at(rank, second).*what += static_cast<float>(rate * part);
    });
}

}  // namespace belay::second_generator
