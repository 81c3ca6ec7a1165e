#include "score/cpu_meaning.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace belay::score {

namespace {

constexpr double kMostlyIdle = 0.5;  // busy for less than this share: mostly idle (Belay's choice)
constexpr double kNearLimit = 0.6;   // of a limit, from here on near it: "high" in the words of the report
constexpr double kMentionOthers =
    0.05;                       // what others used of the nodes' CPU time, from here on (Belay's choice)
constexpr double kFull = 0.85;  // of the nodes' CPU time in use, from here on (Belay's choice)

bool has_product(const NodeCpus& node) {
    return node.ceilings.double_flops.rate + node.ceilings.single_flops.rate > 0;
}

std::string busy_line(const CpuVerdict& verdict) {
    std::string line = fmt::format("The job's programs ran for {:.0f} % of the CPU time that it was given",
                                   100 * verdict.busy);
    if (verdict.others >= kMentionOthers)
        line += fmt::format("; others used {:.0f} % of the CPU time of the nodes", 100 * verdict.others);
    return line + ".";
}

std::string limit_line(const Score& score, const CpuVerdict& verdict) {
    if (!verdict.counts)
        return fmt::format(
            "How near they came to a limit of the hardware is not known: between {:.0f} and {:.0f} % of it.",
            score.low, score.high);
    std::string line = "They reached";
    if (verdict.reports_flop)
        line += fmt::format(" {:.0f} % of what OpenBLAS computes on these CPUs", 100 * verdict.flop);
    if (verdict.reports_bytes)
        line += fmt::format("{} {:.0f} % of the memory bandwidth that STREAM measures there",
                            verdict.reports_flop ? " and" : "", 100 * verdict.bytes);
    return line + ".";
}

std::string advice_line(const CpuVerdict& verdict) {
    if (verdict.counts && verdict.point >= kNearLimit)
        return "The job is near a limit of its CPUs: it gets faster by less work or more nodes, not by "
               "tuning.";
    if (verdict.busy < kMostlyIdle && verdict.node_use >= kFull &&
        verdict.others >= 1 - verdict.given + kMentionOthers)
        return "The nodes were full: other programs had the CPUs. Ask for whole nodes (--exclusive), or tell "
               "the "
               "staff.";
    if (verdict.busy < kMostlyIdle)
        return "Most of the CPU time was not used: fewer CPUs would do, or more processes or threads.";
    if (!verdict.counts && verdict.ceilings_known && (verdict.reports_flop || verdict.reports_bytes))
        return "Check what the program counts, or vet the nodes while nothing else runs on them.";
    if (!verdict.counts && (verdict.reports_flop || verdict.reports_bytes))
        return "Vet nodes with cpu.gemm, cpu.sgemm and cpu.stream before the job, with OpenBLAS installed, "
               "for a score.";
    if (!verdict.counts)
        return "Busy CPUs may do little: let the program report fp32_flops_per_second, fp64_flops_per_second "
               "or memory_bytes_per_second for a score.";
    return "The CPUs were busy but far from the limits that were counted: faster kernels or libraries may "
           "help.";
}

}  // namespace

std::vector<std::string> meaning_of(const Score& score, const CpuVerdict& verdict) {
    return {busy_line(verdict), limit_line(score, verdict), advice_line(verdict)};
}

std::vector<std::string> notes_of(const CpuUse& use, const CpuVerdict& verdict) {
    std::vector<std::string> notes;
    const bool reports = verdict.reports_flop || verdict.reports_bytes;
    if (!reports)
        notes.emplace_back(
            "the program reports neither FLOP/s nor bytes of memory (MLLOG tracked_stats: "
            "fp32_flops_per_second, fp64_flops_per_second, memory_bytes_per_second): only bounds are known");
    else if (!verdict.reports_bytes || !verdict.reports_flop)
        notes.push_back(fmt::format("the program does not report its {}: the score may be higher",
                                    verdict.reports_flop ? "bytes of memory" : "FLOP/s"));
    if (use.below_zero > 0)
        notes.push_back(
            fmt::format("the program reported less than 0 FLOP/s or bytes/s {:.0f} times: that was left out",
                        use.below_zero));
    const bool measured = std::ranges::any_of(
        use.nodes, [](const NodeCpus& node) { return has_product(node) || node.ceilings.bytes.rate > 0; });
    const bool own_kernel = std::ranges::any_of(
        use.nodes, [](const NodeCpus& node) { return has_product(node) && !node.ceilings.is_blas; });
    if (verdict.reports_flop && own_kernel)
        notes.emplace_back(
            "what the CPUs can compute was measured by a kernel that reaches less than a BLAS: install "
            "OpenBLAS on the nodes");
    else if (reports && !verdict.ceilings_known)
        notes.emplace_back(
            measured ? "a ceiling that is needed was not measured on all CPUs of the job: vet nodes with "
                       "cpu.gemm, cpu.sgemm and cpu.stream in a step that has all of them"
                     : "what the CPUs can reach was not measured: vet nodes with the checks cpu.gemm, "
                       "cpu.sgemm and cpu.stream");
    else if (reports && std::isinf(verdict.excess))
        notes.emplace_back("the program reports work, but none of its processes was seen to run");
    else if (reports && !verdict.counts)
        notes.push_back(fmt::format(
            "the work that the program reports is {:.0f} % of what vetting found possible in the time that "
            "it ran: either it counts too much, or the node was not free while it was vetted",
            100 * verdict.excess));
    if (verdict.counts) notes.emplace_back("ceilings: vetting measured each node before the job");
    return notes;
}

}  // namespace belay::score
