// What every node of a step but the first does.
#include "transfer/bandwidth.h"
#include "vet/step_parts.h"

#include <algorithm>

namespace belay::vet {

namespace {

using core::Result;

constexpr uint16_t kAnyPort[] = {0};
constexpr int kClockProbes = 16;
constexpr core::Duration kClockTime = std::chrono::seconds(5);

bool wants_clock(const Protocol& protocol) {
    return std::any_of(protocol.checks.begin(), protocol.checks.end(),
                       [](const Check& check) { return check.type->type == "clock.offset"; });
}

void add_clock(transfer::Channel& root, transfer::Deadline deadline, Report& report) {
    auto offset = transfer::measure_clock_offset(root, kClockProbes,
                                                 std::min(deadline, transfer::deadline_in(kClockTime)));
    if (offset)
        report.clock = *offset;
    else
        report.clock_error = offset.error().message();
}

// Orders until the verdict comes.
Result<Verdicts> follow(transfer::Channel& root, int data_listener, const StepContext& context,
                        transfer::Deadline deadline) {
    for (;;) {
        BELAY_TRY(message, root.receive(deadline));
        if (message.type == kVerdict) return decode_verdict(message.body);
        if (message.type != kPairOrder)
            return core::system_error("message {} means nothing here", message.type);
        BELAY_TRY(order, decode_pair_order(message.body));
        PairAnswer answer = answer_pair_order(order, data_listener, context.secret);
        BELAY_CHECK(root.send({kPairAnswer, encode(answer)}, deadline));
    }
}

Result<Verdicts> take_part(const Protocol& protocol, const StepContext& context, Report report,
                           const transfer::Listener& listener, transfer::Deadline reporting) {
    transfer::Deadline deadline = transfer::deadline_in(longest_vetting_time(protocol, context.timeout));
    auto ports = transfer::rendezvous_ports(context.name);
    BELAY_TRY(root, transfer::join(context.root_address, ports, context.secret, context.rank, reporting));
    if (wants_clock(protocol)) add_clock(root, reporting, report);
    report.data_port = listener.port;
    BELAY_CHECK(root.send({kReport, encode(report)}, reporting));
    return follow(root, listener.socket.get(), context, deadline);
}

}  // namespace

PairAnswer answer_pair_order(const PairOrder& order, int data_listener, const std::string& secret) {
    transfer::PairOptions options{
        .secret = secret,
        .name = order.name,
        .duration = order.duration,
        .streams = order.streams,
        .deadline = transfer::deadline_in(transfer::longest_pair_time(order.duration))};
    auto rate = order.listen ? transfer::measure_as_listener(data_listener, options)
                             : transfer::measure_as_connector(order.address, order.port, options);
    PairAnswer answer{.name = order.name};
    if (rate)
        answer.bytes_per_second = *rate;
    else
        answer.error = rate.error().message();
    return answer;
}

Result<Verdicts> run_member(const Protocol& protocol, const StepContext& context) {
    transfer::Deadline reporting = transfer::deadline_in(context.timeout);
    BELAY_TRY(listener, transfer::listen_on(kAnyPort));
    Report report{.digest = protocol.digest};
    report.results = run_node_checks(
        protocol,
        {.deadline = reporting, .stop_at_first_refusal = context.need.has_value(), .view = context.view});
    auto verdicts = take_part(protocol, context, std::move(report), listener, reporting);
    if (!verdicts)
        return std::unexpected(
            std::move(verdicts.error())
                .context(fmt::format("{} got no verdict from {}, where the nodes of the step meet",
                                     context.nodes[context.rank], context.nodes[0]))
                .hint("the message of that node, if there is one, says more"));
    return verdicts;
}

}  // namespace belay::vet
