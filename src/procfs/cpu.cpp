#include "procfs/cpu.h"

#include "core/text.h"
#include "procfs/scan.h"

namespace belay::procfs {

namespace {

constexpr int64_t kMostCpus = 1 << 20;

// The one word of a file of one line; "" if there is none, or more.
std::string_view only_word(std::string_view text) {
    std::string_view line;
    if (!Lines(text).next(line)) return {};
    Words words(line);
    std::string_view word = words.next();
    return words.next().empty() ? word : std::string_view();
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    if (text == "\n") return cpus;
    for (std::string_view range : core::split(only_word(text), ',')) {
        size_t dash = range.find('-');
        std::optional<int64_t> first = count(range.substr(0, dash));
        std::optional<int64_t> last = dash == std::string_view::npos ? first : count(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= kMostCpus) return std::nullopt;
        if (!cpus.empty() && *first <= cpus.back()) return std::nullopt;
        for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
}

std::optional<int64_t> parse_cache_size(std::string_view text) {
    std::string_view size = only_word(text);
    int64_t unit = size.ends_with('K') ? kKibibyte : size.ends_with('M') ? kKibibyte * kKibibyte : 1;
    if (unit > 1) size.remove_suffix(1);
    return scaled(count(size), unit);
}

std::vector<std::pair<int, double>> parse_cpuinfo_clocks(std::string_view text) {
    std::vector<std::pair<int, double>> clocks;
    int64_t cpu = 0;  // counted where no line names it
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        std::string_view name = core::trim(line.substr(0, colon)), value = core::trim(line.substr(colon + 1));
        if (name == "processor") cpu = count(value).value_or(cpu);
        if (name != "cpu MHz" || cpu >= kMostCpus) continue;
        if (std::optional<double> megahertz = decimal(value))
            clocks.emplace_back(static_cast<int>(cpu), *megahertz);
        ++cpu;
    }
    return clocks;
}

}  // namespace belay::procfs
