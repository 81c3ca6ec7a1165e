// cpu.count, cpu.freq, cpu.governor, cpu.stream, cpu.gemm, cpu.sgemm
#include "core/file.h"
#include "core/text.h"
#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/stream.h"
#include "procfs/cpu.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace belay::vet {

namespace {

constexpr size_t kSmallFile = size_t{64} << 10;
constexpr int kMaxCaches = 16;  // of one CPU
// STREAM's rule for the size of each array, against all last caches used in the run
// (https://www.cs.virginia.edu/stream/ref.html).
constexpr uint64_t kArraysPerCache = 4;
constexpr uint64_t kLeastArray = uint64_t{64} << 20;

core::Result<std::vector<int>> online_cpus(const NodeView& node) {
    constexpr const char* kFile = "/sys/devices/system/cpu/online";
    BELAY_TRY(text, core::read_file(node.path(kFile), kSmallFile));
    auto cpus = procfs::parse_cpu_list(text);
    if (!cpus) return core::system_error("{}: \"{}\" is not a list of CPUs", kFile, core::trim(text));
    return std::move(*cpus);
}

// One file of cpufreq for each CPU. That a CPU has none is no failure of reading it.
class CpufreqFiles {
  public:
    CpufreqFiles(const NodeView& node, std::string_view name) : node_(node), name_(name) {}

    std::optional<std::string> of(int cpu) {
        auto text = core::read_file(
            node_.path(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/{}", cpu, name_)), kSmallFile);
        if (text) return std::string(core::trim(*text));
        if (text.error().cause() != core::Cause::kNotFound && !failure_) failure_ = std::move(text.error());
        return std::nullopt;
    }
    // The first one.
    const std::optional<core::Error>& failure() const { return failure_; }

  private:
    const NodeView& node_;
    std::string_view name_;
    std::optional<core::Error> failure_;
};

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

// One CPU that is wrong fails the node; that none is can only be said of those that were read.
Outcome unless_unread(Outcome out, size_t read, size_t online, const std::optional<core::Error>& failure) {
    if (out.status != Status::kPass || read >= online) return out;
    if (failure)
        return error_outcome(
            core::Error(*failure).context(fmt::format("only {} of {} CPUs could be read", read, online)));
    out.status = Status::kError;
    out.reason = fmt::format("{} of {} CPUs could be read: {}", read, online, out.reason.text());
    return out;
}

int threads_of(const Check& check) {
    return static_cast<int>(check.get<int64_t>("threads").value_or(0));
}

int repeats_of(const Check& check) {
    return static_cast<int>(check.get<int64_t>("repeats").value_or(5));
}

int64_t cpus_used(int threads) {
    const auto usable = static_cast<int64_t>(kernels::usable_cpus().size());
    return threads > 0 ? std::min<int64_t>(threads, usable) : usable;
}

Outcome measure_product(const Check& check, kernels::Precision precision) {
    kernels::GemmOptions options{
        .threads = threads_of(check), .repeats = repeats_of(check), .precision = precision};
    if (auto size = check.get<int64_t>("size")) options.size = static_cast<size_t>(*size);
    auto rate = kernels::measure_gemm(options);
    if (!rate) return error_outcome(rate.error());
    const double billions = rate->flops_per_second / 1e9;
    auto min = check.get<double>("min");
    Outcome out =
        judge_rate(billions, min, "GFLOP/s", fmt::format("{:.1f} GFLOP/s by {}", billions, rate->method),
                   fmt::format("{:.1f} GFLOP/s", min.value_or(0)));
    out.method = rate->method;
    out.cpus = std::min(cpus_used(options.threads), static_cast<int64_t>(rate->threads));
    return out;
}

struct Cache {
    int level = 0;
    uint64_t bytes = 0;
    std::string shared_with;  // the CPUs, which tells one cache from another
};

// The cache before memory as one CPU sees it; nothing where the kernel does not tell.
std::optional<Cache> last_cache(const NodeView& node, int cpu) {
    std::optional<Cache> last;
    for (int index = 0; index < kMaxCaches; ++index) {
        auto read = [&](std::string_view name) {
            auto path = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/{}", cpu, index, name);
            auto text = core::read_file(node.path(path), kSmallFile);
            return text.value_or("");
        };
        auto level = core::parse_number<int>(core::trim(read("level")));
        auto bytes = procfs::parse_cache_size(read("size"));
        if (!level || !bytes || read("type") == "Instruction\n") continue;
        if (!last || *level > last->level)
            last = Cache{*level, static_cast<uint64_t>(*bytes), read("shared_cpu_list")};
    }
    return last;
}

// Bytes that a triad over three arrays touches.
constexpr uint64_t kArrays = 3;

// Errors: why arrays of this size cannot be used.
core::Result<> check_size(uint64_t bytes, std::optional<uint64_t> caches, const NodeView& node) {
    if (caches && bytes < kArraysPerCache * *caches)
        return core::bad_input(
            "size: {} would be measured in the caches: it must be at least {}, {} times the {} of "
            "last caches of the CPUs used",
            core::to_text(core::ByteSize{bytes}), core::to_text(core::ByteSize{kArraysPerCache * *caches}),
            kArraysPerCache, core::format_binary({*caches}));
    auto text = core::read_file(node.path("/proc/meminfo"), size_t{1} << 20);
    auto available = procfs::parse_meminfo(text.value_or("")).available;
    if (available && kArrays * bytes > static_cast<uint64_t>(*available))
        return core::system_error("three arrays of {} are more than the {} of memory that is available",
                                  core::format_binary({bytes}),
                                  core::format_binary({static_cast<uint64_t>(*available)}));
    return {};
}

}  // namespace

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

std::optional<uint64_t> last_cache_bytes(const NodeView& node, std::span<const int> cpus) {
    std::map<std::string, uint64_t> caches;
    for (int cpu : cpus)
        if (auto cache = last_cache(node, cpu))
            caches[cache->shared_with.empty() ? fmt::format("{}", cpu) : cache->shared_with] = cache->bytes;
    if (caches.empty()) return std::nullopt;
    return std::accumulate(caches.begin(), caches.end(), uint64_t{0},
                           [](uint64_t sum, const auto& cache) { return sum + cache.second; });
}

uint64_t default_array_bytes(std::optional<uint64_t> cache_bytes) {
    return std::max(kLeastArray, kArraysPerCache * cache_bytes.value_or(0));
}

Outcome measure_cpu_count(const Check& check, const NodeView& node) {
    auto cpus = online_cpus(node);
    if (!cpus) return error_outcome(cpus.error());
    return judge_cpu_count(static_cast<int64_t>(cpus->size()), check.get<int64_t>("expected"),
                           check.get<int64_t>("min"));
}

Outcome measure_cpu_frequency(const Check& check, const NodeView& node) {
    std::vector<std::pair<int, double>> clocks;
    auto cpus = online_cpus(node);
    if (!cpus) return error_outcome(cpus.error());
    CpufreqFiles files(node, "scaling_cur_freq");
    for (int cpu : *cpus)
        if (auto text = files.of(cpu))
            if (auto kilohertz = core::parse_number<double>(*text))
                clocks.emplace_back(cpu, *kilohertz / 1000);
    if (clocks.empty())
        if (auto text = core::read_file(node.path("/proc/cpuinfo"), size_t{64} << 20))
            clocks = procfs::parse_cpuinfo_clocks(*text);
    if (clocks.empty() && files.failure()) return error_outcome(*files.failure());
    if (clocks.empty())
        return unsupported_outcome("neither cpufreq nor /proc/cpuinfo tells the clock of this node's CPUs");
    auto min = check.get<double>("min");
    if (!min) return unsupported_outcome("no minimum is set: give min");
    return unless_unread(judge_frequency(clocks, *min), clocks.size(), cpus->size(), files.failure());
}

Outcome measure_governor(const Check& check, const NodeView& node) {
    auto expected = check.get<std::string>("expected");
    if (!expected) return unsupported_outcome("no governor is set: give expected");
    size_t seen = 0;
    auto cpus = online_cpus(node);
    if (!cpus) return error_outcome(cpus.error());
    CpufreqFiles files(node, "scaling_governor");
    for (int cpu : *cpus) {
        auto governor = files.of(cpu);
        if (!governor) continue;
        ++seen;
        if (*governor != *expected) {
            Outcome out =
                pass_or_fail(false, fmt::format("the governor is {}, not {}", *governor, *expected));
            out.device = fmt::format("cpu{}", cpu);
            return out;
        }
    }
    if (seen == 0 && files.failure()) return error_outcome(*files.failure());
    if (seen == 0) return unsupported_outcome("this node's CPUs have no frequency governor");
    return unless_unread(pass_or_fail(true, fmt::format("the governor of {} CPUs is {}", seen, *expected)),
                         seen, cpus->size(), files.failure());
}

Outcome measure_stream(const Check& check, const NodeView& node) {
    kernels::TriadOptions options{.threads = threads_of(check), .repeats = repeats_of(check)};
    std::vector<int> cpus = kernels::usable_cpus();
    if (options.threads > 0) cpus = kernels::cpus_for_threads(options.threads, cpus);
    auto caches = last_cache_bytes(node, cpus);
    auto size = check.get<core::ByteSize>("size");
    options.array_bytes = size ? size->bytes : default_array_bytes(caches);
    if (auto fits = check_size(options.array_bytes, caches, node); !fits) return error_outcome(fits.error());
    auto rate = kernels::measure_triad(options);
    if (!rate) return error_outcome(rate.error());
    auto min = check.get<core::Bandwidth>("min");
    std::optional<double> limit = min ? std::optional(min->bytes_per_second()) : std::nullopt;
    Outcome out = judge_rate(*rate, limit, "bytes/s", core::format_bytes_per_second(*rate),
                             core::format_bytes_per_second(limit.value_or(0)));
    out.cpus = cpus_used(options.threads);
    return out;
}

Outcome measure_gemm(const Check& check, const NodeView&) {
    return measure_product(check, kernels::Precision::kDouble);
}
Outcome measure_single_gemm(const Check& check, const NodeView&) {
    return measure_product(check, kernels::Precision::kSingle);
}

}  // namespace belay::vet
