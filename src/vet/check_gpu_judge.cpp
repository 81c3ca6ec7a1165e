// How GPUs are judged.
#include "core/text.h"
#include "vet/checks.h"
#include "vet/gpu_facts.h"

#include <cmath>
#include <functional>
#include <set>

namespace belay::vet {

using gpu::fact;
using gpu::field;

namespace {

constexpr double kMib = 1024.0 * 1024.0;

// What is wrong with one GPU, or right.
struct Finding {
    Status status = Status::kPass;
    double value = gpu::kMissing;
    double limit = gpu::kMissing;
    std::string text = {};
    std::string_view unit = {};    // where it is not that of the check
    double order = gpu::kMissing;  // by which findings of several units are compared, instead of the value
};

Finding untold(std::string_view what) {
    return {.status = Status::kUnsupported, .text = fmt::format("its driver does not tell {}", what)};
}

Finding at_most(double value, double limit, std::string text) {
    return {.status = value <= limit ? Status::kPass : Status::kFail,
            .value = value,
            .limit = limit,
            .text = std::move(text)};
}

Finding at_least(double value, double limit, std::string text) {
    return {.status = value >= limit ? Status::kPass : Status::kFail,
            .value = value,
            .limit = limit,
            .text = std::move(text)};
}

// Of two findings on one GPU, the one that tells more.
Finding worse(Finding a, Finding b) {
    return b.status > a.status ? std::move(b) : std::move(a);
}

enum class Bad { kHigh, kLow };

bool is_worse(const Finding& a, const Finding& b, Bad bad) {
    if (a.status != b.status) return a.status > b.status;
    auto order = [](const Finding& finding) {
        return std::isnan(finding.order) ? finding.value : finding.order;
    };
    return bad == Bad::kHigh ? order(a) > order(b) : order(a) < order(b);
}

std::optional<double> told(double value) {
    return std::isnan(value) ? std::nullopt : std::optional(value);
}

Outcome judge_each(GpuStates gpus, std::string unit, Bad bad,
                   const std::function<Finding(const GpuState&)>& judge) {
    if (gpus.empty()) return unsupported_outcome("the driver shows no GPU");
    Finding worst;
    const GpuState* who = nullptr;
    size_t refused = 0;
    for (const GpuState& gpu : gpus) {
        Finding finding =
            gpu.reading.lost ? Finding{.status = Status::kFail, .text = "it does not answer"} : judge(gpu);
        if (finding.status != Status::kPass) ++refused;
        if (who != nullptr && !is_worse(finding, worst, bad)) continue;
        worst = std::move(finding);
        who = &gpu;
    }
    Outcome out{.status = worst.status,
                .value = told(worst.value),
                .unit = worst.unit.empty() ? std::move(unit) : std::string(worst.unit),
                .limit = told(worst.limit),
                .reason = fmt::format("{}: {}", who->device.uuid, worst.text)};
    if (worst.status != Status::kPass) out.device = who->device.uuid;
    if (refused > 1) out.reason += fmt::format(" (and {} more)", refused - 1);
    return out;
}

// The measured value of all, with the criterion that is not set.
Outcome without_limit(Outcome out, std::string_view wanted) {
    if (out.status != Status::kPass) return out;
    out.status = Status::kUnsupported;
    out.limit.reset();
    out.reason += fmt::format(", but no limit is set: give {}", wanted);
    return out;
}

Finding whole(double count, int64_t limit, std::string_view what) {
    return at_most(count, static_cast<double>(limit),
                   fmt::format("{:.0f} {}, {} allowed", count, what, limit));
}

Outcome judge_hot(GpuStates gpus, double max, bool max_is_too_much) {
    return judge_each(gpus, "degrees C", Bad::kHigh, [&](const GpuState& gpu) {
        double celsius = gpu.reading[field("temperature_celsius")];
        if (std::isnan(celsius)) return untold("its temperature");
        Finding finding = at_most(celsius, max, fmt::format("{:.0f} °C", celsius));
        if (max_is_too_much && celsius >= max) finding.status = Status::kFail;
        return finding;
    });
}

}  // namespace

Outcome judge_gpu_count(GpuStates gpus, std::optional<int64_t> expected,
                        const std::vector<std::string>& missing) {
    std::set<int> whole_gpus;
    for (const GpuState& gpu : gpus) {
        if (gpu.reading.lost)
            return {.status = Status::kFail,
                    .reason = fmt::format("{}: it does not answer", gpu.device.uuid),
                    .device = gpu.device.uuid};
        whole_gpus.insert(gpu.device.index);
    }
    const auto count = static_cast<double>(whole_gpus.size());
    if (!missing.empty())
        return {.status = Status::kFail,
                .value = count,
                .unit = "GPUs",
                .limit = count + static_cast<double>(missing.size()),
                .reason = fmt::format("{:.0f} GPUs, but the driver does not show {} on the PCI bus: {}",
                                      count, missing.size(), core::join(missing, ", ")),
                .device = missing.front()};
    Outcome out = expected ? pass_or_fail(count == static_cast<double>(*expected)) : unsupported_outcome("");
    out.value = count;
    out.unit = "GPUs";
    if (expected) out.limit = static_cast<double>(*expected);
    out.reason = expected ? fmt::format("{:.0f} GPUs, {} expected", count, *expected)
                          : fmt::format("{:.0f} GPUs, but no number is set: give expected", count);
    return out;
}

Outcome judge_gpu_temperature(GpuStates gpus, std::optional<double> max) {
    Outcome out = judge_hot(gpus, max.value_or(HUGE_VAL), false);
    return max ? out : without_limit(std::move(out), "max");
}

Outcome judge_gpu_below(GpuStates gpus, double max) {
    return judge_hot(gpus, max, true);
}

Outcome judge_gpu_margin(GpuStates gpus, double min) {
    return judge_each(gpus, "degrees C", Bad::kLow, [&](const GpuState& gpu) {
        double slowdown = gpu.facts[fact("slowdown_celsius")];
        double margin = slowdown - gpu.reading[field("temperature_celsius")];
        if (std::isnan(margin)) return untold("when it slows down");
        Finding finding =
            at_least(margin, min,
                     fmt::format("{:.0f} °C below the {:.0f} °C at which it slows down", margin, slowdown));
        if (margin == min) finding.status = Status::kFail;
        return finding;
    });
}

Outcome judge_gpu_memory(GpuStates gpus, std::optional<double> max_share, std::optional<int64_t> max_mib) {
    Outcome out =
        judge_each(gpus, max_mib && !max_share ? "MiB" : "ratio", Bad::kHigh, [&](const GpuState& gpu) {
            double used = gpu.reading[field("memory_used_bytes")];
            double share = used / gpu.reading[field("memory_total_bytes")];
            if (std::isnan(share)) return untold("how much memory is in use");
            std::string text = fmt::format("{:.0f} MiB in use, {:.1f} %", used / kMib, share * 100);
            Finding of_share = at_most(share, max_share.value_or(HUGE_VAL), text);
            of_share.order = share;
            if (!max_mib) return of_share;
            Finding of_mib = at_most(used / kMib, static_cast<double>(*max_mib),
                                     fmt::format("{}, {} MiB allowed", text, *max_mib));
            of_mib.unit = "MiB";
            of_mib.order = share;
            return max_share ? worse(std::move(of_share), std::move(of_mib)) : of_mib;
        });
    return max_share || max_mib ? out : without_limit(std::move(out), "max_fraction or max_mib");
}

Outcome judge_gpu_processes(GpuStates gpus) {
    return judge_each(gpus, "processes", Bad::kHigh, [](const GpuState& gpu) {
        double count = gpu.reading[field("processes")];
        return std::isnan(count) ? untold("which processes are on it") : whole(count, 0, "processes");
    });
}

Outcome judge_gpu_clocks(GpuStates gpus, std::optional<int64_t> sm, std::optional<int64_t> memory) {
    auto clock = [](const GpuState& gpu, size_t which, std::optional<int64_t> wanted, std::string_view name) {
        constexpr double kMega = 1e6;
        double megahertz = gpu.facts[which] / kMega;
        if (std::isnan(megahertz)) return wanted ? untold("its application clocks") : Finding{};
        return at_least(megahertz, static_cast<double>(wanted.value_or(0)),
                        fmt::format("application clock of the {} {:.0f} MHz", name, megahertz));
    };
    Outcome out = judge_each(gpus, "MHz", Bad::kLow, [&](const GpuState& gpu) {
        Finding finding = clock(gpu, fact("clock_memory_application_hertz"), memory, "memory");
        if (sm) finding = worse(clock(gpu, fact("clock_sm_application_hertz"), sm, "cores"), finding);
        std::string lowered = slowdown_reasons(gpu.reading[field("clock_event_reasons")]);
        if (lowered.empty() || finding.status == Status::kFail) return finding;
        return Finding{.status = Status::kFail, .text = fmt::format("its clocks are lowered: {}", lowered)};
    });
    return sm || memory ? out : without_limit(std::move(out), "sm or mem");
}

Outcome judge_gpu_ecc(GpuStates gpus, std::optional<int64_t> uncorrected, std::optional<int64_t> corrected) {
    Outcome out = judge_each(gpus, "errors", Bad::kHigh, [&](const GpuState& gpu) {
        double bad = gpu.reading[field("ecc_uncorrected_total")];
        double mended = gpu.reading[field("ecc_corrected_total")];
        if (std::isnan(bad) || std::isnan(mended)) return untold("its memory errors: ECC may be off");
        auto judge = [](double count, std::optional<int64_t> limit, std::string_view what) {
            if (limit) return whole(count, *limit, what);
            return Finding{.value = count, .text = fmt::format("{:.0f} {}", count, what)};
        };
        Finding of_mended = judge(mended, corrected, "corrected memory errors");
        Finding of_bad = judge(bad, uncorrected, "memory errors that could not be corrected");
        return corrected && !uncorrected ? of_mended : worse(std::move(of_bad), std::move(of_mended));
    });
    return uncorrected || corrected ? out : without_limit(std::move(out), "uncorrected or corrected");
}

Outcome judge_gpu_remap(GpuStates gpus, std::optional<int64_t> pending, std::optional<int64_t> failed,
                        std::optional<int64_t> pages) {
    Outcome out = judge_each(gpus, "rows", Bad::kHigh, [&](const GpuState& gpu) {
        double waiting = gpu.reading[field("remap_pending")];
        double broken = gpu.reading[field("remap_failed")];
        double retired = gpu.facts[fact("retired_pages")];
        // A GPU remaps rows or, an older one, retires pages.
        if ((std::isnan(waiting) || std::isnan(broken)) && std::isnan(retired))
            return untold("what of its memory was replaced");
        Finding finding{.value = 0, .limit = 0, .text = "no row waits or failed"};
        if (pending && !std::isnan(waiting))
            finding = worse(finding, whole(waiting, *pending, "rows to be remapped by a reset"));
        if (failed && !std::isnan(broken))
            finding = worse(finding, whole(broken, *failed, "rows that could not be remapped"));
        if (pages && !std::isnan(retired)) finding = worse(finding, whole(retired, *pages, "retired pages"));
        return finding;
    });
    return pending || failed || pages ? out : without_limit(std::move(out), "pending, failed or pages");
}

Outcome judge_gpu_recovery(GpuStates gpus) {
    constexpr std::string_view kActions[] = {"nothing",
                                             "a reset",
                                             "a reboot",
                                             "to be drained",
                                             "to be drained and reset",
                                             "its IMEX domain to be recovered"};
    return judge_each(gpus, "", Bad::kHigh, [&](const GpuState& gpu) {
        double action = gpu.facts[fact("recovery_action")];
        if (std::isnan(action)) return untold("what it needs to recover");
        auto index = static_cast<size_t>(action);
        return at_most(action, 0,
                       fmt::format("it asks for {}",
                                   index < std::size(kActions) ? kActions[index] : "something unknown"));
    });
}

Outcome judge_gpu_links(GpuStates gpus, int64_t down) {
    return judge_each(gpus, "links", Bad::kHigh, [&](const GpuState& gpu) {
        double links = gpu.facts[fact("nvlinks")];
        double broken = gpu.facts[fact("nvlinks_down")];
        if (std::isnan(links) || std::isnan(broken)) return untold("of any NVLink");
        double errors = gpu.reading[field("nvlink_errors_total")];
        std::string text = fmt::format("{:.0f} of {:.0f} NVLinks are down", broken, links);
        // Healthy nodes count errors too; they are told and convict nobody.
        if (errors > 0) text += fmt::format(", {:.0f} errors were counted", errors);
        return at_most(broken, static_cast<double>(down), std::move(text));
    });
}

Outcome judge_gpu_pcie(GpuStates gpus) {
    return judge_each(gpus, "lanes", Bad::kLow, [](const GpuState& gpu) {
        double width = gpu.reading[field("pcie_width")];
        double full_width = gpu.facts[fact("pcie_width_max")];
        double generation = gpu.reading[field("pcie_generation")];
        double full_generation = gpu.facts[fact("pcie_generation_max")];
        if (std::isnan(width + full_width + generation + full_generation)) return untold("its PCIe link");
        std::string text = fmt::format("generation {:.0f} of {:.0f}, {:.0f} of {:.0f} lanes", generation,
                                       full_generation, width, full_width);
        bool works = gpu.reading[field("utilization_ratio")] > 0;
        Finding finding = at_least(width, full_width, std::move(text));
        if (works && generation < full_generation) finding.status = Status::kFail;
        return finding;
    });
}

std::string slowdown_reasons(double clock_event_reasons) {
    struct Row {
        unsigned long long bit;
        std::string_view text;
    };
    constexpr Row kReasons[] = {{0x8, "hardware slowdown"},
                                {0x20, "heat (driver)"},
                                {0x40, "heat (hardware)"},
                                {0x80, "power brake"}};
    if (!(clock_event_reasons >= 0)) return {};
    std::string text;
    for (const Row& reason : kReasons)
        if ((static_cast<unsigned long long>(clock_event_reasons) & reason.bit) != 0)
            text += fmt::format("{}{}", text.empty() ? "" : ", ", reason.text);
    return text;
}

int count_slowdowns(std::span<const double> clock_event_reasons) {
    int count = 0;
    bool slow = false;
    for (double reasons : clock_event_reasons) {
        bool is_slow = !slowdown_reasons(reasons).empty();
        if (is_slow && !slow) ++count;
        slow = is_slow;
    }
    return count;
}

Outcome judge_gpu_slowdowns(std::span<const std::vector<GpuState>> looks, double window_seconds,
                            std::optional<double> rate) {
    if (looks.empty()) return unsupported_outcome("the driver shows no GPU");
    const std::vector<GpuState>& last = looks.back();
    constexpr double kMinute = 60;
    if (rate && *rate > 0 && window_seconds * *rate < kMinute)
        return error_outcome(core::bad_input(
            "{:g} s cannot tell {:g} slowdowns per minute, as one of them is more: give a window of {:g} s",
            window_seconds, *rate, std::ceil(kMinute / *rate)));
    return judge_each(last, rate ? "1/min" : "slowdowns", Bad::kHigh, [&](const GpuState& gpu) {
        const auto index = static_cast<size_t>(&gpu - last.data());
        std::vector<double> reasons;
        for (const std::vector<GpuState>& look : looks)
            reasons.push_back(look.at(index).reading[field("clock_event_reasons")]);
        if (std::isnan(reasons.back())) return untold("why its clocks are lowered");
        const double slowdowns = count_slowdowns(reasons);
        std::string now = slowdown_reasons(reasons.back());
        Finding finding =
            at_most(rate ? slowdowns * kMinute / window_seconds : slowdowns, rate.value_or(0),
                    fmt::format("slowed down {:.0f} times in {:g} s", slowdowns, window_seconds));
        if (now.empty()) return finding;
        finding.status = Status::kFail;
        finding.text += fmt::format(", and is slow now: {}", now);
        return finding;
    });
}

}  // namespace belay::vet
