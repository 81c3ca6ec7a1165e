#include "vet/verdict_text.h"

#include "core/tell.h"
#include "core/units.h"
#include "core/utf8.h"
#include "slurm/node_causes.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::vet {

namespace {

std::string cause(const CheckResult& check) {
    std::string name = check.name == check.type ? check.name : fmt::format("{} ({})", check.name, check.type);
    std::string device = check.device.empty() ? "" : " on " + check.device;
    return core::printable(
        fmt::format("{}{}: {}: {}", name, device, status_name(check.status), check.reason.text()));
}

}  // namespace

std::string summary(const Verdicts& verdicts) {
    std::string text = fmt::format("{}: {}: {} of {} nodes are fit", core::printable(verdicts.protocol),
                                   verdicts.passed ? "pass" : "fail", verdicts.vetted.size(),
                                   verdicts.vetted.size() + verdicts.cordoned.size());
    if (verdicts.stopped_early) text += ", stopped early";
    if (!verdicts.cordoned.empty()) text += "; not fit: " + slurm::short_list(verdicts.cordoned);
    return text;
}

std::vector<std::string> refusals(const Verdicts& verdicts, size_t limit) {
    slurm::NodeCauses causes;
    for (const NodeVerdict& node : verdicts.nodes) {
        if (node.verdict == Status::kPass) continue;
        if (node.checks.empty()) causes.add("no check was expected of it", node.node);
        // What kept a node from reporting is why each of its checks has no result: it is said once.
        bool reported = node.report == Status::kPass;
        const std::string problem = node.report_problem ? core::in_one_line(*node.report_problem) : "";
        if (!reported)
            causes.add(core::printable(fmt::format("{}: {}", status_name(node.report), problem)), node.node);
        for (const CheckResult& check : node.checks) {
            if (check.severity != Severity::kEssential || check.status == Status::kPass) continue;
            if (reported || check.status != node.report) causes.add(cause(check), node.node);
        }
    }
    return causes.lines(limit);
}

std::vector<std::string> warnings(const Verdicts& verdicts, size_t limit) {
    slurm::NodeCauses causes;
    for (const NodeVerdict& node : verdicts.nodes)
        for (const CheckResult& check : node.checks)
            if (check.severity == Severity::kWarning && check.status != Status::kPass)
                causes.add("warning: " + cause(check), node.node);
    return causes.lines(limit);
}

std::string value_text(const CheckResult& check) {
    if (!check.value) return "-";
    if (check.unit == "bytes")
        return core::format_binary({static_cast<uint64_t>(std::max(*check.value, 0.0))});
    if (check.unit == "bytes/s") return core::format_bytes_per_second(*check.value);
    if (check.unit == "s") return fmt::format("{:.3f} ms", 1000 * *check.value);
    if (check.unit == "ratio") return fmt::format("{:.1f} %", 100 * *check.value);
    return fmt::format("{:.6g}{}{}", *check.value, check.unit.empty() ? "" : " ", check.unit);
}

}  // namespace belay::vet
