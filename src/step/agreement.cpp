#include "step/agreement.h"

#include "core/error_codec.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "slurm/node_causes.h"
#include "transfer/rendezvous.h"

#include <algorithm>
#include <map>

namespace belay::step {

using core::Result;

namespace {

enum : uint8_t { kReady = transfer::kFirstFreeType, kFailed, kStart, kRefuse };

constexpr core::Duration kTellTime = std::chrono::seconds(5);

std::string text_of(const core::Error& error) {
    std::string text = error.headline();
    if (!error.hint_text().empty()) text += "\nhint: " + error.hint_text();
    return text;
}

// What other nodes sent goes to a terminal.
std::string printable_lines(std::string_view text) {
    std::string lines;
    for (std::string_view line : core::split(text, '\n'))
        lines += (lines.empty() ? "" : "\n") + core::printable(line);
    return lines;
}

// Another node's, or why it is not one.
core::Error sent_error(std::string_view body) {
    auto error = core::decode_error(body);
    return error ? std::move(*error) : std::move(error.error());
}

core::Error malformed(uint8_t type) {
    return core::system_error("sent a malformed message: one of kind {} where it was to report", type)
        .hint("are all parts of Belay on all nodes of the same version?")
        .error();
}

class Meeting {
  public:
    Meeting(const transfer::Members& members, transfer::Root root, bool silence_counts)
        : members_(members), root_(std::move(root)), silence_counts_(silence_counts) {}

    Result<bool> run(const std::optional<core::Error>& failure, core::Duration timeout,
                     std::vector<std::string>& causes) {
        reports_[0] = failure;
        auto handler = [&](uint32_t rank, const transfer::Message& message) {
            if (message.type == kReady)
                reports_[rank] = std::nullopt;
            else
                reports_[rank] = message.type == kFailed ? sent_error(message.body) : malformed(message.type);
        };
        auto all_reported = [&] { return reports_.size() == members_.nodes.size(); };
        // Who sent what is no message was hung up on, and has nothing more to say.
        auto nobody_left = [&] {
            for (uint32_t rank = 0; rank < members_.nodes.size(); ++rank)
                if (!reports_.contains(rank) && !root_.refused(rank)) return false;
            return true;
        };
        auto decided = [&] { return nobody_left() || root_.is_full(); };
        BELAY_CHECK(root_.serve(core::Deadline::after(timeout), decided, handler));
        // A node whose connection this one had no room for is not to blame for its silence.
        auto shortage = silence_counts_ && !all_reported() ? root_.shortage() : std::nullopt;
        auto failures = find_failures(timeout, silence_counts_ && !shortage);
        causes = causes_of(failures);
        bool start = failures.empty() && !shortage;
        for (uint32_t rank = 1; rank < members_.nodes.size(); ++rank)
            root_.send(rank, {.type = start ? kStart : kRefuse});
        // They hang up when they have it: to end before could lose it.
        auto all_gone = [&] {
            for (uint32_t rank = 1; rank < members_.nodes.size(); ++rank)
                if (root_.connected(rank)) return false;
            return true;
        };
        BELAY_CHECK(root_.serve(core::Deadline::after(kTellTime), all_gone, handler));
        if (shortage) return std::unexpected(std::move(*shortage));
        return start;
    }

  private:
    std::vector<NodeFailure> find_failures(core::Duration timeout, bool silence_counts) const {
        std::vector<NodeFailure> failures;
        for (uint32_t rank = 0; rank < members_.nodes.size(); ++rank) {
            auto report = reports_.find(rank);
            if (report == reports_.end() && !silence_counts) continue;
            if (report == reports_.end())
                failures.push_back({members_.nodes[rank], why_no_report(rank, timeout)});
            else if (report->second)
                failures.push_back({members_.nodes[rank], *report->second});
            else if (rank > 0 && !root_.connected(rank))
                failures.push_back({members_.nodes[rank],
                                    core::system_error("was ready, but then ended or could not be reached")
                                        .because(core::Cause::kEnded)
                                        .error()});
        }
        return failures;
    }

    core::Error why_no_report(uint32_t rank, core::Duration timeout) const {
        if (auto refused = root_.refused(rank)) return std::move(*refused).context("did not report");
        return core::system_error("did not report within {}", core::format_duration(timeout))
            .because(core::Cause::kTimedOut)
            .error();
    }

    const transfer::Members& members_;
    transfer::Root root_;
    bool silence_counts_;                                     // whether a node that says nothing has failed
    std::map<uint32_t, std::optional<core::Error>> reports_;  // by rank; nothing: ready
};

Result<bool> report_to_root(const transfer::Members& members, const std::optional<core::Error>& failure,
                            const std::vector<uint16_t>& ports, core::Duration timeout) {
    core::Deadline deadline = core::Deadline::after(timeout);
    BELAY_TRY(address, members.root_address);
    BELAY_TRY(channel,
              transfer::join(address, ports, transfer::known(members.secret), members.rank, deadline));
    transfer::Message message{.type = failure ? kFailed : kReady};
    if (failure) message.body = core::encode_error(*failure);
    BELAY_CHECK(channel.send(message, deadline));
    BELAY_TRY(answer, channel.receive(deadline));
    return answer.type == kStart;
}

}  // namespace

std::vector<std::string> causes_of(const std::vector<NodeFailure>& failures) {
    slurm::NodeCauses causes;
    const auto is_cancelled = [](const NodeFailure& failure) {
        return failure.why.cause() == core::Cause::kCancelled;
    };
    // A node that stopped because of another one is not a cause, where that is known.
    const bool others_know = !std::ranges::all_of(failures, is_cancelled);
    for (const NodeFailure& failure : failures)
        if (!others_know || !is_cancelled(failure))
            causes.add(printable_lines(text_of(failure.why)), failure.node);
    return causes.lines();
}

namespace {

Result<bool> meet(const transfer::Members& members, const std::optional<core::Error>& failure,
                  core::Duration timeout, bool silence_counts, std::vector<std::string>& causes) {
    causes.clear();
    if (members.nodes.size() <= 1) {
        if (failure) causes = causes_of({{members.nodes.empty() ? "this node" : members.nodes[0], *failure}});
        return !failure;
    }
    std::vector<uint16_t> ports = transfer::rendezvous_ports(members.name);
    if (members.rank != 0) {
        auto answer = report_to_root(members, failure, ports, timeout);
        if (answer) return answer;
        if (failure)
            return std::unexpected(core::Error(*failure).also(
                std::move(answer.error()).context(members.nodes[0] + " cannot be told of it")));
        if (!members.root_address) return answer;  // there was no link that could fail
        return std::unexpected(transfer::link_error(std::move(answer.error())));
    }
    BELAY_TRY(root,
              transfer::Root::open(ports, {members.secret}, static_cast<uint32_t>(members.nodes.size())));
    return Meeting(members, std::move(root), silence_counts).run(failure, timeout, causes);
}

}  // namespace

Result<bool> agree(const transfer::Members& members, const std::optional<core::Error>& failure,
                   core::Duration timeout, std::vector<std::string>& causes) {
    return meet(members, failure, timeout, true, causes);
}

Result<> fail_together(const transfer::Members& members, const core::Error& failure, core::Duration timeout,
                       std::vector<std::string>& causes) {
    BELAY_CHECK(meet(members, failure, timeout, false, causes));
    return {};
}

}  // namespace belay::step
