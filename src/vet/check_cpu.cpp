// cpu.count, cpu.freq, cpu.governor, cpu.stream, cpu.gemm
#include "core/file.h"
#include "core/text.h"
#include "kernels/gemm.h"
#include "kernels/stream.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>

namespace belay::vet {

namespace {

constexpr int kMaxCpu = 1 << 20;
constexpr size_t kSmallFile = size_t{64} << 10;

std::optional<std::vector<int>> online_cpus(const NodeView& node) {
    auto text = core::read_file(node.path("/sys/devices/system/cpu/online"), kSmallFile);
    return text ? parse_cpu_list(core::trim(*text)) : std::nullopt;
}

std::optional<std::string> cpufreq_file(const NodeView& node, int cpu, std::string_view name) {
    auto text = core::read_file(node.path(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/{}", cpu, name)),
                                kSmallFile);
    return text ? std::optional(std::string(core::trim(*text))) : std::nullopt;
}

// A rate in whole units, and its limit, with words for a person.
Outcome judge_rate(double rate, std::optional<double> min, std::string unit, const std::string& measured,
                   const std::string& wanted) {
    Outcome out = min ? pass_or_fail(rate >= *min) : unsupported_outcome("");
    out.value = rate;
    out.unit = std::move(unit);
    out.limit = min;
    out.reason = min ? fmt::format("{} measured, {} wanted", measured, wanted)
                     : fmt::format("{} measured, but no minimum is set: give min", measured);
    return out;
}

int threads_of(const Check& check) {
    return static_cast<int>(std::clamp<int64_t>(check.get<int64_t>("threads").value_or(0), 0, 100'000));
}

int repeats_of(const Check& check) {
    return static_cast<int>(std::clamp<int64_t>(check.get<int64_t>("repeats").value_or(5), 0, 100'000));
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    if (text.empty()) return cpus;
    for (std::string_view range : core::split(text, ',')) {
        auto ends = core::split(range, '-');
        auto first = core::parse_number<int>(ends[0]), last = core::parse_number<int>(ends.back());
        if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first || *last >= kMaxCpu)
            return std::nullopt;
        for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
        if (cpus.size() > size_t{kMaxCpu}) return std::nullopt;
    }
    return cpus;
}

Outcome judge_cpu_count(int64_t online, std::optional<int64_t> expected, std::optional<int64_t> min) {
    if (!expected && !min) return unsupported_outcome("no number is set: give expected or min");
    Outcome out = pass_or_fail((!expected || online == *expected) && (!min || online >= *min));
    out.value = static_cast<double>(online);
    out.unit = "CPUs";
    out.limit = static_cast<double>(expected ? *expected : *min);
    out.reason = fmt::format("{} CPUs are online, {}{} wanted", online, expected ? "" : "at least ",
                             expected ? *expected : *min);
    return out;
}

Outcome judge_frequency(const std::vector<std::pair<int, double>>& megahertz, double min) {
    auto slowest = std::min_element(megahertz.begin(), megahertz.end(),
                                    [](const auto& a, const auto& b) { return a.second < b.second; });
    Outcome out = pass_or_fail(slowest->second >= min);
    out.value = slowest->second;
    out.unit = "MHz";
    out.limit = min;
    out.device = fmt::format("cpu{}", slowest->first);
    out.reason = fmt::format("the slowest CPU runs at {:.0f} MHz, {:.0f} MHz wanted", slowest->second, min);
    return out;
}

std::vector<std::pair<int, double>> parse_cpuinfo_clocks(std::string_view text) {
    std::vector<std::pair<int, double>> clocks;
    for (std::string_view line : core::split(text, '\n')) {
        size_t colon = line.find(':');
        if (colon == std::string_view::npos || core::trim(line.substr(0, colon)) != "cpu MHz") continue;
        if (auto value = core::parse_number<double>(core::trim(line.substr(colon + 1))))
            clocks.emplace_back(static_cast<int>(clocks.size()), *value);
    }
    return clocks;
}

Outcome measure_cpu_count(const Check& check, const NodeView& node) {
    auto cpus = online_cpus(node);
    if (!cpus) return error_outcome("/sys/devices/system/cpu/online cannot be read");
    return judge_cpu_count(static_cast<int64_t>(cpus->size()), check.get<int64_t>("expected"),
                           check.get<int64_t>("min"));
}

Outcome measure_cpu_frequency(const Check& check, const NodeView& node) {
    std::vector<std::pair<int, double>> clocks;
    for (int cpu : online_cpus(node).value_or(std::vector<int>{}))
        if (auto text = cpufreq_file(node, cpu, "scaling_cur_freq"))
            if (auto kilohertz = core::parse_number<double>(*text))
                clocks.emplace_back(cpu, *kilohertz / 1000);
    if (clocks.empty())
        if (auto text = core::read_file(node.path("/proc/cpuinfo"), size_t{64} << 20))
            clocks = parse_cpuinfo_clocks(*text);
    if (clocks.empty())
        return unsupported_outcome("neither cpufreq nor /proc/cpuinfo tells the clock of this node's CPUs");
    auto min = check.get<double>("min");
    return min ? judge_frequency(clocks, *min) : unsupported_outcome("no minimum is set: give min");
}

Outcome measure_governor(const Check& check, const NodeView& node) {
    auto expected = check.get<std::string>("expected");
    if (!expected) return unsupported_outcome("no governor is set: give expected");
    size_t seen = 0;
    for (int cpu : online_cpus(node).value_or(std::vector<int>{})) {
        auto governor = cpufreq_file(node, cpu, "scaling_governor");
        if (!governor) continue;
        ++seen;
        if (*governor != *expected) {
            Outcome out =
                pass_or_fail(false, fmt::format("the governor is {}, not {}", *governor, *expected));
            out.device = fmt::format("cpu{}", cpu);
            return out;
        }
    }
    if (seen == 0) return unsupported_outcome("this node's CPUs have no frequency governor");
    return pass_or_fail(true, fmt::format("the governor of {} CPUs is {}", seen, *expected));
}

Outcome measure_stream(const Check& check, const NodeView&) {
    kernels::TriadOptions options{.threads = threads_of(check), .repeats = repeats_of(check)};
    if (auto size = check.get<core::ByteSize>("size")) options.array_bytes = size->bytes;
    auto rate = kernels::measure_triad(options);
    if (!rate) return error_outcome(rate.error().message());
    auto min = check.get<core::Bandwidth>("min");
    std::optional<double> limit = min ? std::optional(min->bytes_per_second()) : std::nullopt;
    return judge_rate(*rate, limit, "bytes/s", core::format_bytes_per_second(*rate),
                      core::format_bytes_per_second(limit.value_or(0)));
}

Outcome measure_gemm(const Check& check, const NodeView&) {
    kernels::GemmOptions options{.threads = threads_of(check), .repeats = repeats_of(check)};
    options.size =
        static_cast<size_t>(std::clamp<int64_t>(check.get<int64_t>("size").value_or(768), 0, 1'000'000));
    auto rate = kernels::measure_gemm(options);
    if (!rate) return error_outcome(rate.error().message());
    auto min = check.get<double>("min");
    return judge_rate(*rate / 1e9, min, "GFLOP/s", fmt::format("{:.1f} GFLOP/s", *rate / 1e9),
                      fmt::format("{:.1f} GFLOP/s", min.value_or(0)));
}

}  // namespace belay::vet
