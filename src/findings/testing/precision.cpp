#include "findings/testing/precision.h"

#include <algorithm>

namespace belay::findings {

using core::Result;

namespace {

using Ids = std::vector<std::string_view>;

// What a fault ought to be called, and what else it truthfully brings about.
struct Truth {
    Fault fault;
    Ids causes;
    Ids consequences;
};
const std::vector<Truth>& truths() {
    static const std::vector<Truth> table = {
        {Fault::kNone, {}, {}},
        {Fault::kSlowStorage, {"data_stall", "data_stall_cpu"}, {"low_gpu_use", "low_cpu_use", "io_stall"}},
        {Fault::kSlowDecoding, {"loader_cpu_bound"}, {"data_stall", "low_gpu_use"}},
        {Fault::kSmallFiles,
         {"small_reads"},
         {"data_stall", "data_stall_cpu", "low_gpu_use", "low_cpu_use", "io_stall"}},
        {Fault::kHostLeak, {"host_memory_leak"}, {}},
        {Fault::kGpuLeak, {"gpu_memory_leak"}, {}},
        {Fault::kHang,
         {"hang"},
         {"busy_without_use", "low_gpu_use", "low_cpu_use", "imbalance_gpu", "imbalance_cpu"}},
        {Fault::kSlowRank, {"straggler", "slow_gpu"}, {"slow_gpu", "imbalance_gpu"}},
        {Fault::kUnequalWork, {"imbalance_cpu", "imbalance_gpu", "straggler"}, {"straggler", "low_cpu_use"}},
        {Fault::kHeat, {"thermal_throttle"}, {"slow_gpu", "straggler", "slowdown", "imbalance_gpu"}},
        {Fault::kPowerLimit, {"power_cap"}, {}},
        {Fault::kPowerBrake, {"power_brake"}, {"slow_gpu", "straggler"}},
        {Fault::kUnusedGpus, {"idle_gpu"}, {"low_gpu_use", "imbalance_gpu"}},
        {Fault::kUnusedCores, {"serial"}, {"low_cpu_use"}},
        {Fault::kTooManyThreads, {"oversubscription"}, {}},
        {Fault::kSlowCheckpoints,
         {"checkpoint_pause", "checkpoint_pause_cpu"},
         {"low_gpu_use", "low_cpu_use", "io_stall"}},
        {Fault::kDeviceFault, {"xid"}, {"task_failed", "low_gpu_use", "hang"}},
        {Fault::kMemoryRanOut,
         {"oom"},
         {"task_failed", "host_memory_leak", "hang", "low_cpu_use", "low_gpu_use"}},
        {Fault::kLateStart, {"late_start", "late_first_step"}, {}},
        {Fault::kLostSamples, {"sampling_gap"}, {}},
        {Fault::kDiverged, {"loss_not_finite"}, {}},
        {Fault::kSlowerFromThen, {"slowdown"}, {}},
    };
    return table;
}

bool is_among(const Ids& ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

void count(const Job& job, const Report& report, Precision& out) {
    const Truth& truth = *std::ranges::find(truths(), job.fault, &Truth::fault);
    std::string what =
        fmt::format("{}{}, seed {}", fault_name(job.fault), job.has_gpus ? " with GPUs" : "", job.seed);
    bool found = false;
    for (const Finding& finding : report.findings) {
        bool is_cause = is_among(truth.causes, finding.id);
        found |= is_cause;
        if (is_cause || is_among(truth.consequences, finding.id)) {
            ++out.rules[finding.id].right;
        } else {
            ++out.rules[finding.id].wrong;
            out.mistakes.push_back(fmt::format("{}: {} fired: {}", what, finding.id, finding.summary));
        }
    }
    if (job.fault == Fault::kNone) return;
    FaultCount& fault = out.faults[std::string(fault_name(job.fault))];
    ++fault.jobs;
    fault.found += found ? 1 : 0;
    bool is_first = !report.findings.empty() && is_among(truth.causes, report.findings.front().id);
    fault.first += is_first ? 1 : 0;
    if (!found) out.mistakes.push_back(what + ": missed");
    if (found && !is_first)
        out.mistakes.push_back(fmt::format("{}: {} came first", what, report.findings.front().id));
}

}  // namespace

int Precision::right() const {
    int sum = 0;
    for (const auto& [id, rule] : rules) sum += rule.right;
    return sum;
}
int Precision::wrong() const {
    int sum = 0;
    for (const auto& [id, rule] : rules) sum += rule.wrong;
    return sum;
}
double Precision::precision() const {
    return right() + wrong() > 0 ? static_cast<double>(right()) / (right() + wrong()) : 0;
}
double Precision::recall() const {
    int jobs = 0;
    int found = 0;
    for (const auto& [name, fault] : faults) {
        jobs += fault.jobs;
        found += fault.found;
    }
    return jobs > 0 ? static_cast<double>(found) / jobs : 0;
}

Result<Precision> measure_precision(const RuleSet& rules, int jobs, uint32_t seed) {
    Precision out;
    constexpr auto kFaults = static_cast<int>(Fault::kCount);
    int next = static_cast<int>(seed) % kFaults;
    for (int i = 0; i < jobs; ++i) {
        Fault fault = Fault::kNone;
        if (i % 3 != 0) {
            next = next % (kFaults - 1) + 1;
            fault = static_cast<Fault>(next);
        }
        bool has_gpus = needs_gpus(fault) || (!needs_cpus_only(fault) && (i / 2) % 2 == 0);
        Job job = draw_job(fault, has_gpus, seed + static_cast<uint32_t>(i));
        BELAY_TRY(archive, record_of(job));
        BELAY_TRY(report, diagnose(archive, rules, {}));
        count(job, report, out);
    }
    return out;
}

}  // namespace belay::findings
