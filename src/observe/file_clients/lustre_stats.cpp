#include "observe/file_clients/lustre_stats.h"

#include "observe/collect/units.h"
#include "procfs/scan.h"

#include <algorithm>

namespace belay::observe::file_clients {

namespace {

using procfs::Lines;
using procfs::Words;

// The requests of a target (mdc.*.stats) are the longest list; it has about 120 in Lustre 2.17.
constexpr size_t kMostCounters = 512;

bool is_time_unit(std::string_view unit) {
    return unit == "usec" || unit == "usecs";
}

// "1790008165.367572621": seconds and nanoseconds.
std::optional<core::Time> time_of(std::string_view word) {
    const size_t point = word.find('.');
    if (point == std::string_view::npos || word.size() != point + 10) return std::nullopt;
    const std::optional<int64_t> nanoseconds =
        collect::sum(procfs::scaled(procfs::count(word.substr(0, point)), collect::kNanoseconds),
                     procfs::count(word.substr(point + 1)));
    if (!nanoseconds) return std::nullopt;
    return core::time_from_nanoseconds(*nanoseconds);
}

// "open 33538615 samples [usecs] 0 36643 3420852446 …"; nothing for a line of another form.
std::optional<LustreCounter> counter_of(std::string_view line) {
    Words words(line);
    LustreCounter counter{.name = words.next()};
    counter.samples = procfs::count(words.next());
    if (words.next() != "samples") return std::nullopt;
    counter.unit = words.next();
    if (counter.unit.size() < 2 || counter.unit.front() != '[' || counter.unit.back() != ']')
        return std::nullopt;
    counter.unit = counter.unit.substr(1, counter.unit.size() - 2);
    words.skip(2);  // the least, the greatest
    counter.sum = procfs::count(words.next());
    return counter;
}

const LustreCounter* find_counter(const LustreStats& stats, std::string_view name) {
    const auto found = std::ranges::find(stats.counters, name, &LustreCounter::name);
    return found == stats.counters.end() ? nullptr : &*found;
}

std::optional<int64_t> taken(const LustreCounter& counter, LustreMeasure measure) {
    switch (measure) {
        case LustreMeasure::kSamples:
            return counter.samples;
        case LustreMeasure::kBytes:
            return counter.unit == "bytes" ? counter.sum : std::nullopt;
        case LustreMeasure::kMicroseconds:
            return is_time_unit(counter.unit) ? counter.sum : std::nullopt;
    }
    return std::nullopt;
}

bool tells_times(const LustreStats& stats) {
    return stats.counters.empty() || std::ranges::any_of(stats.counters, is_time_unit, &LustreCounter::unit);
}

}  // namespace

core::Result<> parse_lustre_stats(std::string_view text, LustreStats& stats) {
    stats.start_time.reset();
    stats.counters.clear();
    if (!text.starts_with("snapshot_time")) return core::bad_input("does not begin with snapshot_time");
    // A counter that is cut off would look like one that is 0.
    if (!text.ends_with('\n')) return core::bad_input("ends within a line");
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        if (line.starts_with("start_time")) {
            Words words(line);
            words.skip(1);
            stats.start_time = time_of(words.next());
            continue;
        }
        const std::optional<LustreCounter> counter = counter_of(line);
        if (!counter || find_counter(stats, counter->name) != nullptr) continue;
        if (stats.counters.size() == kMostCounters)
            return core::bad_input("has more than {} counters", kMostCounters);
        stats.counters.push_back(*counter);
    }
    return {};
}

std::optional<int64_t> total(const LustreStats& stats, std::string_view names, LustreMeasure measure) {
    if (measure == LustreMeasure::kMicroseconds && !tells_times(stats)) return std::nullopt;
    std::optional<int64_t> all = 0;
    Words words(names);
    for (std::string_view name = words.next(); !name.empty(); name = words.next())
        if (const LustreCounter* counter = find_counter(stats, name))
            all = collect::sum(all, taken(*counter, measure));
    return all;
}

}  // namespace belay::observe::file_clients
