// What the first node of a step does: gathers the reports, runs the checks between nodes, judges, tells.
#include "core/error_codec.h"
#include "vet/checks.h"
#include "vet/step_parts.h"

#include <algorithm>
#include <set>
#include <unistd.h>
#include <utility>

namespace belay::vet {

namespace {

using core::Deadline;
using core::Result;

constexpr core::Duration kLateTime = std::chrono::seconds(1);
constexpr core::Duration kTellTime = std::chrono::seconds(2);

Result<std::string> failure_in(std::string_view body) {
    auto failure = core::decode_error(body);
    return std::unexpected(failure ? std::move(*failure) : std::move(failure.error()));
}

core::Error stopped_early() {
    return core::system_error("vetting stopped early: too few nodes could still pass")
        .because(core::Cause::kCancelled)
        .error();
}

class StepRoot {
  public:
    StepRoot(const Protocol& protocol, const StepContext& context, transfer::Root root,
             transfer::Listener data_listener)
        : protocol_(protocol),
          context_(context),
          root_(std::move(root)),
          data_listener_(std::move(data_listener)),
          reports_(context.nodes.size()) {}

    Result<Verdicts> run() {
        Deadline reporting = core::Deadline::after(context_.timeout);
        BELAY_CHECK(gather(reporting));
        BELAY_CHECK(all_could_come());
        if (!stopped_) BELAY_CHECK(run_step_checks());
        Verdicts verdicts = judge(protocol_.name, node_verdicts(), context_.need);
        verdicts.stopped_early = stopped_;
        if (context_.announce) context_.announce(verdicts);
        BELAY_CHECK(tell(verdicts));
        return verdicts;
    }

  private:
    // All who are connected; after an early stop also those who come a little later.
    Result<> tell(const Verdicts& verdicts) {
        std::set<uint32_t> told;
        VerdictMessages messages(verdicts);
        auto all_told = [&] {
            for (uint32_t rank = 1; rank < reports_.size(); ++rank)
                if (!told.contains(rank) && root_.send(rank, {kVerdict, messages.for_rank(rank)}))
                    told.insert(rank);
            return !stopped_ || told.size() + 1 == reports_.size();
        };
        auto ignore = [](uint32_t, const transfer::Message&) {};
        BELAY_CHECK(root_.serve(core::Deadline::after(kLateTime), all_told, ignore));
        // They hang up when they have it. To end before would lose it where a report is still on its way
        // here.
        auto all_gone = [&] {
            return std::none_of(told.begin(), told.end(),
                                [&](uint32_t rank) { return root_.connected(rank); });
        };
        BELAY_CHECK(root_.serve(core::Deadline::after(kTellTime), all_gone, ignore));
        return {};
    }

    Result<> gather(Deadline reporting) {
        // The own checks run beside, so that the others are served meanwhile.
        auto own = start_own_checks(protocol_, context_, reporting);
        if (!own) take(0, std::unexpected(own.error()));
        auto done = [&] {
            if (!reports_[0] && own->poll_result()) take(0, own->result());
            return is_hopeless() || root_.is_full() ||
                   std::all_of(reports_.begin(), reports_.end(),
                               [](const auto& each) { return each.has_value(); });
        };
        auto handler = [&](uint32_t rank, const transfer::Message& message) {
            if (reports_[rank]) return;
            if (message.type == kReport) take(rank, message.body);
            if (message.type == kFailure) take(rank, failure_in(message.body));
        };
        BELAY_TRY(complete, root_.serve(reporting.later_by(2 * kReportTime), done, handler,
                                        [&] { return own ? own->descriptor() : -1; }));
        stopped_ = complete && is_hopeless();
        // What hangs in the first node's own checks is known here, as another node's report would tell it.
        if (!complete && !reports_[0] && own) take(0, std::unexpected(own->give_up(context_.timeout)));
        return {};
    }

    // A node whose connection this one had no room for is not to blame for its silence.
    Result<> all_could_come() const {
        auto reported = std::ranges::count_if(reports_, [](const auto& each) { return each.has_value(); });
        auto shortage = root_.shortage();
        if (stopped_ || std::cmp_equal(reported, reports_.size()) || !shortage) return {};
        return std::unexpected(std::move(*shortage).context(
            fmt::format("{}, where the nodes of the step meet, heard {} of {} nodes", context_.nodes[0],
                        reported, reports_.size())));
    }

    void take(uint32_t rank, const Result<std::string>& body) {
        auto report = body ? decode_report(*body, protocol_.checks.size()) : std::unexpected(body.error());
        if (!report) {
            problems_.insert_or_assign(rank, std::move(report.error()));
            reports_[rank].emplace();
        } else {
            if (report->digest != protocol_.digest || report->results.size() != protocol_.checks.size())
                problems_.insert_or_assign(
                    rank,
                    core::system_error("{} has different contents on that node", protocol_.file).error());
            reports_[rank] = std::move(*report);
            use_own_words(*reports_[rank]);
        }
        if (rank == 0) reports_[0]->clock = transfer::ClockOffset{};
        if (context_.progress)
            context_.progress(static_cast<size_t>(std::count_if(
                reports_.begin(), reports_.end(), [](const auto& each) { return each.has_value(); })));
    }

    // What a check is called and how much it counts is not for the reporting node to say.
    void use_own_words(Report& report) const {
        for (size_t i = 0; i < std::min(report.results.size(), protocol_.checks.size()); ++i) {
            if (!report.results[i]) continue;
            report.results[i]->name = protocol_.checks[i].name;
            report.results[i]->type = protocol_.checks[i].written_type;
            report.results[i]->severity = protocol_.checks[i].severity;
        }
    }

    // Whether a node that has reported may still pass.
    bool may_pass(uint32_t rank) const {
        if (problems_.contains(rank)) return false;
        const NodeResults& results = reports_[rank]->results;
        return std::all_of(results.begin(), results.end(), [](const auto& result) {
            return !result || result->severity == Severity::kWarning || result->status == Status::kPass;
        });
    }

    bool is_hopeless() const {
        if (!context_.need) return false;
        size_t may = 0, pending = 0;
        for (uint32_t rank = 0; rank < reports_.size(); ++rank) {
            if (!reports_[rank])
                ++pending;
            else if (may_pass(rank))
                ++may;
        }
        return !can_still_pass(may, pending, *context_.need);
    }

    // With a number of nodes needed, only those that passed what went before are worth testing.
    bool takes_part(uint32_t rank) const {
        if (!reports_[rank] || problems_.contains(rank)) return false;
        if (rank != 0 && !root_.connected(rank)) return false;
        return !context_.need || may_pass(rank);
    }

    Result<> run_step_checks() {
        Deadline deadline = core::Deadline::after(step_checks_time(protocol_));
        for (size_t index = 0; index < protocol_.checks.size(); ++index) {
            const Check& check = protocol_.checks[index];
            if (check.type->scope != Scope::kStep) continue;
            auto start = std::chrono::steady_clock::now();
            std::map<uint32_t, Outcome> outcomes;
            if (check.type->type == "clock.offset") {
                outcomes = compare_clocks(check);
            } else if (check.type->type == "net.pair_bandwidth") {
                BELAY_TRY(found, test_all_pairs(check, index, deadline));
                outcomes = std::move(found);
            } else {
                for (uint32_t rank = 0; rank < reports_.size(); ++rank)
                    outcomes[rank] = unsupported_outcome(std::string(check.type->unsupported_because));
            }
            double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            for (uint32_t rank = 0; rank < reports_.size(); ++rank) {
                if (!reports_[rank] || problems_.contains(rank)) continue;
                auto it = outcomes.find(rank);
                bool lost = it == outcomes.end() && takes_part_was_lost(rank);
                if (it == outcomes.end() && !lost) continue;
                auto& result = reports_[rank]->results[index];
                result = result_of(check, lost ? connection_ended() : it->second);
                if (const core::Error* why = result->reason.failure();
                    why != nullptr && result->status == Status::kMissing)
                    lost_.emplace(rank, *why);
                result->seconds = seconds;
            }
        }
        return {};
    }

    static Outcome connection_ended() {
        return {
            .status = Status::kMissing,
            .reason = core::system_error("its connection ended").because(core::Cause::kUnreachable).error()};
    }

    // It reported, could have gone on, and is gone.
    bool takes_part_was_lost(uint32_t rank) const {
        return rank != 0 && !root_.connected(rank) && (!context_.need || may_pass(rank));
    }

    std::map<uint32_t, Outcome> compare_clocks(const Check& check) const {
        std::vector<uint32_t> ranks;
        std::vector<ClockFacts> facts;
        for (uint32_t rank = 0; rank < reports_.size(); ++rank) {
            if (!takes_part(rank)) continue;
            ranks.push_back(rank);
            ClockFacts& node = facts.emplace_back();
            const Report& report = *reports_[rank];
            if (!report.clock) continue;
            const core::Result<transfer::ClockOffset>& clock = *report.clock;
            if (!clock) {
                node.failure = clock.error();
                continue;
            }
            node.seconds = -clock->seconds;
            node.uncertainty = clock->round_trip / 2;
        }
        double max =
            core::to_seconds(check.get<core::Duration>("max").value_or(std::chrono::milliseconds(100)));
        std::vector<Outcome> outcomes = judge_clocks(facts, max);
        std::map<uint32_t, Outcome> by_rank;
        for (size_t i = 0; i < ranks.size(); ++i) by_rank[ranks[i]] = outcomes[i];
        return by_rank;
    }

    Result<std::map<uint32_t, Outcome>> test_all_pairs(const Check& check, size_t index, Deadline deadline) {
        std::vector<PairNode> nodes;
        for (uint32_t rank = 0; rank < reports_.size(); ++rank)
            if (takes_part(rank))
                nodes.push_back({rank, context_.nodes[rank],
                                 rank == 0 ? data_listener_.port : reports_[rank]->data_port});
        PairSettings settings{
            .secret = context_.secret,
            .name = fmt::format("{}.{}", index, getpid()),
            .data_listener = data_listener_.socket.get(),
            .deadline = deadline,
            .seed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
        return test_pairs(root_, nodes, check, settings);
    }

    std::vector<NodeVerdict> node_verdicts() const {
        std::vector<NodeVerdict> out;
        for (uint32_t rank = 0; rank < reports_.size(); ++rank) {
            NodeVerdict& node = out.emplace_back();
            node.node = context_.nodes[rank];
            judge_report(rank, node);
            for (size_t i = 0; i < protocol_.checks.size(); ++i)
                if (auto result = final_result(rank, i)) node.checks.push_back(std::move(*result));
        }
        return out;
    }

    void judge_report(uint32_t rank, NodeVerdict& node) const {
        if (!reports_[rank]) {
            node.report = Status::kMissing;
            node.report_problem = why_no_report(rank);
        } else if (auto problem = problems_.find(rank); problem != problems_.end()) {
            node.report = Status::kError;
            node.report_problem = problem->second;
        } else if (auto lost = lost_.find(rank); lost != lost_.end()) {
            node.report = Status::kMissing;
            node.report_problem = lost->second;
        }
    }

    core::Error why_no_report(uint32_t rank) const {
        if (stopped_) return stopped_early();
        if (auto refused = root_.refused(rank)) return std::move(*refused).context("no report");
        return core::system_error("no report within {}", core::to_text(context_.timeout))
            .because(core::Cause::kTimedOut)
            .error();
    }

    std::optional<CheckResult> final_result(uint32_t rank, size_t index) const {
        const Check& check = protocol_.checks[index];
        if (!reports_[rank])
            return result_of(check, {.status = Status::kMissing, .reason = why_no_report(rank)});
        if (auto problem = problems_.find(rank); problem != problems_.end())
            return result_of(check, error_outcome(problem->second));
        const auto& result = reports_[rank]->results[index];
        // After a refusal the rest is not expected; what else was left out must not pass as measured.
        if (!result && may_pass(rank))
            return result_of(check,
                             {.status = Status::kMissing,
                              .reason = stopped_ ? stopped_early()
                                                 : core::system_error("the node did not report it").error()});
        return result;
    }

    const Protocol& protocol_;
    const StepContext& context_;
    transfer::Root root_;
    transfer::Listener data_listener_;
    std::vector<std::optional<Report>> reports_;
    std::map<uint32_t, core::Error> problems_;  // of nodes whose reports are no use
    std::map<uint32_t, core::Error> lost_;      // of nodes that reported and then were silent
    bool stopped_ = false;
};

}  // namespace

Result<Verdicts> run_root(const Protocol& protocol, const StepContext& context) {
    BELAY_TRY(data_listener, transfer::listen_on(transfer::kAnyPort));
    auto ports = transfer::rendezvous_ports(context.name);
    BELAY_TRY(root,
              core::with_context(transfer::Root::open(ports, {context.secret, context.offer},
                                                      static_cast<uint32_t>(context.nodes.size())),
                                 fmt::format("{}, where the nodes of the step meet", context.nodes[0])));
    return StepRoot(protocol, context, std::move(root), std::move(data_listener)).run();
}

}  // namespace belay::vet
