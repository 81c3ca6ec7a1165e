#include "vet/runner.h"

#include "core/json.h"
#include "core/work.h"
#include "vet/checks.h"
#include "vet/verdict_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace belay::vet {

namespace {

using core::Deadline;
using core::Result;

// Checks that bound their own waiting (net.tcp) are let finish, so that they can say what they waited for.
constexpr core::Duration kGrace = std::chrono::milliseconds(500);

// `late` says why there was no more time.
Outcome measure_in_child(const Check& check, const NodeView& view, Deadline deadline, std::string_view late) {
    auto work = core::Work::start({}, [&] {
        return Result<std::string>(compact(to_wire(result_of(check, check.type->measure(check, view)))));
    });
    if (!work) return error_outcome(work.error());
    auto text = work->finish(deadline);
    if (!text && text.error().cause() == core::Cause::kTimedOut)
        return error_outcome(std::move(text.error()).context(fmt::format("no result in time: {}", late)));
    if (!text) return error_outcome(text.error());
    auto result = check_from_json(core::parse_json(*text));
    if (!result) return error_outcome(result.error());
    return {result->status, result->value,  result->unit,   result->limit,
            result->reason, result->device, result->method, result->cpus};
}

Outcome measure(const Check& check, const NodeRunOptions& options) {
    if (check.type->measure == nullptr)
        return unsupported_outcome(std::string(check.type->unsupported_because));
    if (options.deadline.is_over())
        return error_outcome(core::system_error("no time was left for it").because(core::Cause::kTimedOut));
    Deadline own = Deadline::after(check.timeout + kGrace);
    bool is_own = options.deadline.left() > own.left();
    return measure_in_child(check, options.view, is_own ? own : options.deadline,
                            is_own ? fmt::format("its {} have passed", core::to_text(check.timeout))
                                   : "the time for all checks was over");
}

}  // namespace

CheckResult result_of(const Check& check, Outcome outcome) {
    return {.name = check.name,
            .type = check.written_type,
            .status = outcome.status,
            .severity = check.severity,
            .device = std::move(outcome.device),
            .method = std::move(outcome.method),
            .cpus = outcome.cpus,
            .value = outcome.value,
            .unit = std::move(outcome.unit),
            .limit = outcome.limit,
            .reason = std::move(outcome.reason)};
}

NodeResults run_node_checks(const Protocol& protocol, const NodeRunOptions& options) {
    NodeResults results(protocol.checks.size());
    for (size_t i = 0; i < results.size(); ++i) {
        const Check& check = protocol.checks[i];
        if (options.progress) options.progress(i);
        if (check.type->scope == Scope::kStep) continue;
        auto start = std::chrono::steady_clock::now();
        CheckResult& result = results[i].emplace(result_of(check, measure(check, options)));
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        bool refused = result.severity == Severity::kEssential && result.status != Status::kPass;
        if (refused && options.stop_at_first_refusal) break;
    }
    return results;
}

Verdicts run_alone(const Protocol& protocol, const std::string& node, std::optional<size_t> need,
                   const NodeRunOptions& options) {
    NodeResults results = run_node_checks(protocol, options);
    NodeVerdict verdict{.node = node};
    bool complete = true;
    for (size_t i = 0; i < results.size(); ++i) {
        const Check& check = protocol.checks[i];
        if (results[i]) {
            verdict.checks.push_back(std::move(*results[i]));
        } else if (check.type->scope == Scope::kStep && (complete || !options.stop_at_first_refusal)) {
            bool absent = !check.type->unsupported_because.empty();
            verdict.checks.push_back(
                result_of(check, unsupported_outcome(absent ? std::string(check.type->unsupported_because)
                                                            : "needs 2 nodes")));
        } else {
            complete = false;
        }
    }
    Verdicts verdicts = judge(protocol.name, {std::move(verdict)}, need);
    verdicts.stopped_early = need && !verdicts.passed;  // the one node cannot pass any more
    return verdicts;
}

}  // namespace belay::vet
