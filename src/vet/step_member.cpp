// What every node of a step but the first does.
#include "transfer/bandwidth.h"
#include "vet/step_parts.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>

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

void add_clock(transfer::Channel& root, core::Deadline deadline, Report& report) {
    auto offset = transfer::measure_clock_offset(root, kClockProbes, deadline.but_within(kClockTime));
    if (offset)
        report.clock = *offset;
    else
        report.clock_error = offset.error().message();
}

// Waits until the own checks have ended; a verdict, where one comes before.
Result<std::optional<Verdicts>> await_checks(core::Work& checks, transfer::Channel& root,
                                             core::Deadline deadline) {
    while (!checks.poll_result()) {
        BELAY_TRY(message, root.try_receive());
        if (message && message->type == kVerdict) {
            BELAY_TRY(verdicts, decode_verdict(message->body));
            return std::optional(std::move(verdicts));
        }
        if (message) return core::system_error("message {} means nothing here", message->type);
        pollfd entries[] = {{checks.descriptor(), POLLIN, 0}, {root.socket(), POLLIN, 0}};
        int ready = poll(entries, std::size(entries), deadline.poll_milliseconds());
        if (ready < 0 && errno != EINTR) return core::errno_error(errno, "cannot wait for the checks");
        if (ready == 0) return core::system_error("its checks did not end in time");
    }
    return std::optional<Verdicts>();
}

// Orders until the verdict comes.
Result<Verdicts> follow(transfer::Channel& root, int data_listener, const StepContext& context,
                        core::Deadline deadline) {
    for (;;) {
        BELAY_TRY(message, root.receive(deadline));
        if (message.type == kVerdict) return decode_verdict(message.body);
        if (message.type == transfer::kClockAnswer) continue;  // too late to be of use
        if (message.type != kPairOrder)
            return core::system_error("message {} means nothing here", message.type);
        BELAY_TRY(order, decode_pair_order(message.body));
        PairAnswer answer = answer_pair_order(order, data_listener, context.secret);
        BELAY_CHECK(root.send({kPairAnswer, encode(answer)}, deadline));
    }
}

Result<Verdicts> take_part(const Protocol& protocol, const StepContext& context) {
    core::Deadline reporting = core::Deadline::after(context.timeout);
    core::Deadline last = core::Deadline::after(longest_vetting_time(protocol, context.timeout));
    BELAY_TRY(listener, transfer::listen_on(kAnyPort));
    // The checks run beside, so that this node hears at once when vetting stops early.
    BELAY_TRY(checks, start_own_checks(protocol, context, reporting));
    auto ports = transfer::rendezvous_ports(context.name);
    BELAY_TRY(root, transfer::join(context.root_address, ports, context.secret, context.rank, reporting));
    BELAY_TRY(early, await_checks(checks, root, reporting.later_by(kReportTime)));
    if (early) return std::move(*early);
    BELAY_TRY(text, checks.result());
    BELAY_TRY(report, decode_report(text, protocol.checks.size()));
    if (wants_clock(protocol)) add_clock(root, reporting, report);
    report.data_port = listener.port;
    BELAY_CHECK(root.send({kReport, encode(report)}, last));
    return follow(root, listener.socket.get(), context, last);
}

}  // namespace

PairAnswer answer_pair_order(const PairOrder& order, int data_listener, const std::string& secret) {
    transfer::PairOptions options{
        .secret = secret,
        .name = order.name,
        .duration = order.duration,
        .streams = order.streams,
        .deadline = core::Deadline::after(transfer::longest_pair_time(order.duration))};
    auto rate = order.listen ? transfer::measure_as_listener(data_listener, options)
                             : transfer::measure_as_connector(order.address, order.port, options);
    PairAnswer answer{.name = order.name};
    if (rate)
        answer.bytes_per_second = *rate;
    else
        answer.error = rate.error().message();
    return answer;
}

Result<core::Work> start_own_checks(const Protocol& protocol, const StepContext& context,
                                    core::Deadline deadline) {
    return core::Work::start({.what = "its own checks"}, [&protocol, &context, deadline] {
        Report report{.digest = protocol.digest};
        report.results = run_node_checks(
            protocol,
            {.deadline = deadline, .stop_at_first_refusal = context.need.has_value(), .view = context.view});
        return Result<std::string>(encode(report));
    });
}

Result<Verdicts> run_member(const Protocol& protocol, const StepContext& context) {
    auto verdicts = take_part(protocol, context);
    if (!verdicts)
        return std::unexpected(
            std::move(verdicts.error())
                .context(fmt::format("{} got no verdict from {}, where the nodes of the step meet",
                                     context.nodes[context.rank], context.nodes[0]))
                .hint("the message of that node, if there is one, says more"));
    return verdicts;
}

}  // namespace belay::vet
