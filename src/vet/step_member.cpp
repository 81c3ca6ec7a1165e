// What every node of a step but the first does.
#include "core/error_codec.h"
#include "transfer/bandwidth.h"
#include "vet/step_parts.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>

namespace belay::vet {

namespace {

using core::Result;

constexpr int kClockProbes = 16;
constexpr core::Duration kClockTime = std::chrono::seconds(5);

bool wants_clock(const Protocol& protocol) {
    return std::any_of(protocol.checks.begin(), protocol.checks.end(),
                       [](const Check& check) { return check.type->type == "clock.offset"; });
}

// Waits until the own checks have ended or their time is over; a verdict, where one comes before. Errors: of
// the link to the root.
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
        // The report says that they have not ended. That poll() fails, for want of memory, is no failure of
        // the link.
        if (ready == 0 || (ready < 0 && errno != EINTR)) break;
    }
    return std::optional<Verdicts>();
}

// Errors: what failed on this node.
Result<Report> own_report(Result<core::Work>& checks, const Result<transfer::Listener>& listener,
                          const Protocol& protocol, core::Duration allowed) {
    if (!listener) return std::unexpected(listener.error());
    if (!checks) return std::unexpected(checks.error());
    if (!checks->poll_result()) return std::unexpected(checks->give_up(allowed));
    BELAY_TRY(text, checks->result());
    BELAY_TRY(report, decode_report(text, protocol.checks.size()));
    report.data_port = listener->port;
    return report;
}

struct RootLink {
    transfer::Channel channel;
    std::string secret;  // of the step
};

// Orders until the verdict comes.
Result<Verdicts> follow(RootLink& root, int data_listener, core::Deadline deadline) {
    for (;;) {
        BELAY_TRY(message, root.channel.receive(deadline));
        if (message.type == kVerdict) return decode_verdict(message.body);
        if (message.type == transfer::kClockAnswer) continue;  // too late to be of use
        if (message.type != kPairOrder)
            return core::system_error("message {} means nothing here", message.type);
        BELAY_TRY(order, decode_pair_order(message.body));
        PairAnswer answer = answer_pair_order(order, data_listener, root.secret);
        BELAY_CHECK(root.channel.send({kPairAnswer, encode(answer)}, deadline));
    }
}

Result<RootLink> join_root(const StepContext& context, core::Deadline deadline) {
    auto ports = transfer::rendezvous_ports(context.name);
    BELAY_TRY(address, context.root_address);
    std::string secret;
    auto secret_of = [&](std::string_view offer, const core::Deadline& until) -> Result<std::string> {
        BELAY_TRY(told, context.source_of_secret()(offer, until));
        return secret = std::move(told);
    };
    BELAY_TRY(channel, transfer::join(address, ports, secret_of, context.rank, deadline));
    return RootLink{std::move(channel), std::move(secret)};
}

Result<Verdicts> take_part(const Protocol& protocol, const StepContext& context) {
    core::Deadline reporting = core::Deadline::after(context.timeout);
    core::Deadline last = core::Deadline::after(longest_vetting_time(protocol, context.timeout));
    auto listener = transfer::listen_on(transfer::kAnyPort);
    // The checks run beside, so that this node hears at once when vetting stops early.
    auto checks = start_own_checks(protocol, context, reporting);
    BELAY_TRY(root, join_root(context, reporting));
    // From here on whatever fails on this node is told to the root, which alone speaks for all.
    if (checks) {
        BELAY_TRY(early, await_checks(*checks, root.channel, reporting.later_by(kReportTime)));
        if (early) return std::move(*early);
    }
    auto report = own_report(checks, listener, protocol, context.timeout);
    if (report && wants_clock(protocol))
        report->clock =
            transfer::measure_clock_offset(root.channel, kClockProbes, reporting.but_within(kClockTime));
    transfer::Message message = report ? transfer::Message{kReport, encode(*report)}
                                       : transfer::Message{kFailure, core::encode_error(report.error())};
    BELAY_CHECK(root.channel.send(message, last));
    return follow(root, listener ? listener->socket.get() : -1, last);
}

}  // namespace

PairAnswer answer_pair_order(const PairOrder& order, int data_listener, const std::string& secret) {
    transfer::PairOptions options{
        .secret = secret,
        .name = order.name,
        .duration = order.duration,
        .streams = order.streams,
        .deadline = core::Deadline::after(transfer::longest_pair_time(order.duration))};
    return {.name = order.name,
            .bytes_per_second = order.listen
                                    ? transfer::measure_as_listener(data_listener, options)
                                    : transfer::measure_as_connector(order.address, order.port, options)};
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
    if (verdicts) return verdicts;
    core::Error error =
        std::move(verdicts.error())
            .context(fmt::format("{} got no verdict from {}, where the nodes of the step meet",
                                 context.nodes[context.rank], context.nodes[0]));
    // Without an address there was no link: the error is of this node's name service.
    if (context.root_address) error = transfer::link_error(std::move(error));
    if (error.cause() == core::Cause::kUnreachable && error.hint_text().empty())
        error = std::move(error).hint("see the message of that node");
    return std::unexpected(std::move(error));
}

Result<> fail_in_step(const core::Error& failure, const StepContext& context) {
    auto deadline = core::Deadline::after(context.timeout);
    auto told = [&]() -> Result<> {
        BELAY_TRY(root, join_root(context, deadline));
        return root.channel.send({kFailure, core::encode_error(failure)}, deadline);
    }();
    if (told) return told;
    return std::unexpected(core::Error(failure).also(
        std::move(told.error())
            .context(fmt::format("{} cannot tell {} of it", context.nodes[context.rank], context.nodes[0]))));
}

bool is_said_elsewhere(const core::Error& error, const StepContext& context) {
    const bool name_is_unknown = !context.root_address && error.cause() == core::Cause::kNotFound &&
                                 context.root_address.error().cause() == core::Cause::kNotFound;
    return context.rank > 1 && (error.cause() == core::Cause::kUnreachable || name_is_unknown);
}

}  // namespace belay::vet
