#include "vet/step.h"

#include "vet/checks.h"
#include "vet/step_parts.h"

#include <algorithm>
#include <cmath>

namespace belay::vet {

namespace {

constexpr std::string_view kPairs = "net.pair_bandwidth";
// Some ten rounds of tests with all nodes answering; what is undecided then is an error.
constexpr core::Duration kPairTime = std::chrono::seconds(60);
constexpr core::Duration kVerdictTime = std::chrono::seconds(10);

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string milliseconds(double seconds) {
    return fmt::format("{:.3f} ms", 1000 * seconds);
}

Outcome judge_clock(double difference, double uncertainty, double max, std::string_view compared) {
    Outcome out = pass_or_fail(std::abs(difference) <= max);
    out.value = difference;
    out.unit = std::string("s");
    out.limit = max;
    out.reason = fmt::format("{} from {}, at most {} off itself; {} allowed", milliseconds(difference),
                             compared, milliseconds(uncertainty), milliseconds(max));
    // Too slow an answer to tell: a difference counts only where it is wrong by every account, agreement only
    // where the measurement is at least as fine as what it is compared with.
    bool surely_off = std::abs(difference) - uncertainty > max;
    if (!surely_off && (out.status == Status::kFail || uncertainty > max)) {
        out.status = Status::kError;
        out.reason += ": the answers took too long to tell";
    }
    return out;
}

}  // namespace

core::Duration step_checks_time(const Protocol& protocol) {
    auto pairs = std::count_if(protocol.checks.begin(), protocol.checks.end(),
                               [](const Check& check) { return check.type->type == kPairs; });
    return pairs * kPairTime;
}

core::Duration longest_vetting_time(const Protocol& protocol, core::Duration timeout) {
    return timeout + step_checks_time(protocol) + kVerdictTime;
}

std::vector<Outcome> judge_clocks(const std::vector<ClockFacts>& nodes, double max_seconds) {
    std::vector<double> known;
    for (const ClockFacts& node : nodes)
        if (node.seconds) known.push_back(*node.seconds);
    double middle = known.empty() ? 0 : median(known);
    std::vector<Outcome> outcomes;
    for (const ClockFacts& node : nodes) {
        if (!node.seconds) {
            outcomes.push_back(error_outcome(
                node.failure ? *node.failure
                             : core::system_error("the node did not compare its clock").error()));
        } else if (known.size() < 2) {
            outcomes.push_back(unsupported_outcome("needs 2 nodes"));
        } else if (known.size() == 2) {
            double other = known[0] + known[1] - *node.seconds;
            double uncertainty = 0;
            for (const ClockFacts& each : nodes)
                uncertainty = std::max(uncertainty, each.seconds ? each.uncertainty : 0);
            outcomes.push_back(judge_clock(*node.seconds - other, uncertainty, max_seconds,
                                           "the other node, and either may be wrong"));
        } else {
            outcomes.push_back(judge_clock(*node.seconds - middle, node.uncertainty, max_seconds,
                                           fmt::format("the median of {} nodes", known.size())));
        }
    }
    return outcomes;
}

core::Result<Verdicts> run_in_step(const Protocol& protocol, const StepContext& context) {
    if (context.nodes.empty() || context.rank >= context.nodes.size())
        return core::system_error("node {} of a step of {}: the step's nodes are not known", context.rank,
                                  context.nodes.size());
    if (context.nodes.size() == 1) {
        NodeRunOptions options{.deadline = core::Deadline::after(context.timeout),
                               .stop_at_first_refusal = context.need.has_value(),
                               .view = context.view};
        Verdicts verdicts = run_alone(protocol, context.nodes[0], context.need, options);
        if (context.announce) context.announce(verdicts);
        return verdicts;
    }
    return context.rank == 0 ? run_root(protocol, context) : run_member(protocol, context);
}

}  // namespace belay::vet
