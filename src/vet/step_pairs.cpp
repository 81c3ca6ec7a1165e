// net.pair_bandwidth, as the root drives it: rounds of the planner become orders, answers become outcomes.
#include "core/tell.h"
#include "core/text.h"
#include "transfer/bandwidth.h"
#include "vet/checks.h"
#include "vet/pairs.h"
#include "vet/step_parts.h"

#include <algorithm>
#include <optional>
#include <set>

namespace belay::vet {

namespace {

using core::Result;

constexpr core::Duration kAnswerTime = std::chrono::seconds(1);  // for orders and answers on their way
constexpr uint32_t kRootRank = 0;

// A failure that may only be what the other side's looks like from here says less than one that cannot.
int weight(const core::Error& error) {
    switch (error.cause()) {
        case core::Cause::kTimedOut:
            return 0;
        case core::Cause::kEnded:
            return 1;
        case core::Cause::kUnreachable:
            return 2;
        default:
            return 3;
    }
}

struct Best {
    double bytes_per_second = 0;
    uint32_t partner = 0;
};

class PairTest {
  public:
    PairTest(transfer::Root& root, const std::vector<PairNode>& nodes, const Check& check,
             const PairSettings& settings)
        : root_(root), settings_(settings), planner_(ranks_of(nodes), settings.seed) {
        for (const PairNode& node : nodes) nodes_[node.rank] = node;
        minimum_ = check.get<core::Bandwidth>("min")->bytes_per_second();
        duration_ = check.get<core::Duration>("duration").value_or(std::chrono::milliseconds(500));
        streams_ = static_cast<int>(check.get<int64_t>("streams").value_or(1));
    }

    Result<std::map<uint32_t, Outcome>> run() {
        for (int round = 0; !settings_.deadline.is_over(); ++round) {
            std::vector<Pair> pairs = planner_.next_round();
            if (pairs.empty()) break;
            BELAY_CHECK(run_round(pairs, round));
        }
        std::map<uint32_t, Outcome> outcomes;
        for (const auto& [rank, node] : nodes_) outcomes[rank] = outcome(rank);
        return outcomes;
    }

  private:
    static std::vector<uint32_t> ranks_of(const std::vector<PairNode>& nodes) {
        std::vector<uint32_t> ranks;
        for (const PairNode& node : nodes) ranks.push_back(node.rank);
        return ranks;
    }

    // How `from` reaches `to`. A node that the root sees on its loopback is on the root's own machine.
    std::string address(uint32_t from, uint32_t to) const {
        if (from == kRootRank) return root_.address_of(to);
        std::string seen = to == kRootRank ? "" : root_.address_of(to);
        bool here = seen.empty() || seen.starts_with("127.") || seen == "::1";
        return here ? root_.own_address_toward(from) : seen;
    }

    PairOrder order_for(uint32_t rank, Pair pair, const std::string& name) const {
        PairOrder order{
            .name = name, .listen = rank == pair.first, .duration = duration_, .streams = streams_};
        if (order.listen) return order;
        order.address = address(pair.second, pair.first);
        order.port = nodes_.at(pair.first).data_port;
        return order;
    }

    Result<> run_round(const std::vector<Pair>& pairs, int round) {
        answers_.clear();
        orders_.clear();
        std::set<uint32_t> awaited;
        std::optional<core::Work> own;
        for (const Pair& pair : pairs) {
            std::string name = fmt::format("{}.{}.{}-{}", settings_.name, round, pair.first, pair.second);
            for (uint32_t rank : {pair.first, pair.second}) {
                PairOrder order = order_for(rank, pair, name);
                awaited.insert(rank);
                orders_[rank] = name;
                if (rank != kRootRank) {
                    if (!root_.send(rank, {kPairOrder, encode(order)}))
                        answers_[rank] =
                            failed(core::system_error("its connection to the first node has ended")
                                       .because(core::Cause::kUnreachable)
                                       .error());
                    continue;
                }
                BELAY_TRY(work, core::Work::start(
                                    {.what = "its own side of " + name, .keep = {settings_.data_listener}},
                                    [this, order] {
                                        return Result<std::string>(encode(answer_pair_order(
                                            order, settings_.data_listener, settings_.secret)));
                                    }));
                own.emplace(std::move(work));
            }
        }
        auto deadline = settings_.deadline.later_by(kAnswerTime)
                            .but_within(transfer::longest_pair_time(duration_) + kAnswerTime);
        auto done = [&] {
            if (own && !answers_.contains(kRootRank) && own->poll_result()) take(kRootRank, own->result());
            return std::all_of(awaited.begin(), awaited.end(), [&](uint32_t rank) {
                return answers_.contains(rank) || (rank != kRootRank && !root_.connected(rank));
            });
        };
        BELAY_CHECK(root_.serve(
            deadline, done,
            [&](uint32_t rank, const transfer::Message& message) {
                if (message.type == kPairAnswer) take(rank, message.body);
            },
            [&] { return own ? own->descriptor() : -1; }));
        for (const Pair& pair : pairs) judge(pair);
        return {};
    }

    static PairAnswer failed(core::Error error) {
        return {.bytes_per_second = std::unexpected(std::move(error))};
    }

    PairSide side(uint32_t rank) const {
        auto answer = answers_.find(rank);
        return {nodes_.at(rank).name, answer == answers_.end() ? std::unexpected(no_answer(rank))
                                                               : answer->second.bytes_per_second};
    }

    core::Error no_answer(uint32_t rank) const {
        if (auto refused = root_.refused(rank))
            return std::move(*refused).context("no answer while pairs of nodes were tested");
        return core::system_error("no answer while pairs of nodes were tested")
            .because(core::Cause::kTimedOut)
            .error();
    }

    void take(uint32_t rank, const Result<std::string>& body) {
        auto answer = body ? decode_pair_answer(*body) : std::unexpected(body.error());
        // A node that was too slow for an earlier test answers that one before it takes up this one.
        if (answer && answer->name != orders_[rank]) return;
        answers_[rank] = answer ? std::move(*answer) : failed(std::move(answer.error()));
    }

    void judge(Pair pair) {
        bool silent = false;
        for (uint32_t rank : {pair.first, pair.second})
            if (!answers_.contains(rank)) {
                silent_.insert(rank);
                silent = true;
            }
        const Result<double> rate = rate_of_pair(side(pair.first), side(pair.second));
        if (rate) {
            for (auto [node, partner] : {pair, Pair{pair.second, pair.first}})
                if (!best_.contains(node) || best_[node].bytes_per_second < *rate)
                    best_[node] = {*rate, partner};
        } else if (!silent) {
            for (uint32_t rank : {pair.first, pair.second}) problem_.insert_or_assign(rank, rate.error());
        }
        planner_.record(pair, rate && *rate >= minimum_);
        for (uint32_t rank : {pair.first, pair.second})
            if (silent_.contains(rank)) planner_.exclude(rank);
    }

    Outcome outcome(uint32_t rank) const {
        Outcome out{.status = Status::kError, .unit = "bytes/s", .limit = minimum_};
        if (silent_.contains(rank)) {
            out.status = Status::kMissing;
            out.reason = no_answer(rank);
            return out;
        }
        std::string wanted = core::format_bytes_per_second(minimum_) + " wanted";
        core::Error failure = core::system_error("no test with another node completed").error();
        if (auto problem = problem_.find(rank); problem != problem_.end()) failure = problem->second;
        std::string measured = core::in_one_line(failure);
        if (auto it = best_.find(rank); it != best_.end()) {
            out.value = it->second.bytes_per_second;
            measured = fmt::format("{} with {}", core::format_bytes_per_second(*out.value),
                                   nodes_.at(it->second.partner).name);
        }
        switch (planner_.verdict(rank)) {
            case PairVerdict::kGood:
                out.status = Status::kPass;
                out.reason = fmt::format("{}, {}", measured, wanted);
                break;
            case PairVerdict::kConvicted:
                // Without a single measurement it is not slow: its network, or the node, does not answer.
                out.status = out.value ? Status::kFail : Status::kError;
                out.reason = out.value ? Reason("at most " + measured) : Reason(failure);
                out.reason += fmt::format(", {}; {} also with {}, which are fast with others", wanted,
                                          out.value ? "too slow" : "no test completed",
                                          core::join(names(planner_.failed_with(rank)), ", "));
                break;
            case PairVerdict::kInconclusive:
                // Measured and below the minimum; but no node is to blame more than the others.
                out.status = out.value ? Status::kFail : Status::kError;
                out.reason = out.value ? Reason(measured) : Reason(failure);
                out.reason += fmt::format(
                    ", {}; no pair was fast enough, so the network or the minimum may be to blame "
                    "rather than this node",
                    wanted);
                break;
            case PairVerdict::kUntested:
                out.reason = undecided(out.value ? core::system_error("{}", measured).error() : failure);
                break;
        }
        return out;
    }

    static core::Error undecided(core::Error last) {
        return std::move(last)
            .context("undecided when the time for tests of pairs was over")
            .because(core::Cause::kTimedOut);
    }

    std::vector<std::string> names(const std::vector<uint32_t>& ranks) const {
        std::vector<std::string> out;
        for (uint32_t rank : ranks) out.push_back(nodes_.at(rank).name);
        return out;
    }

    transfer::Root& root_;
    const PairSettings& settings_;
    PairPlanner planner_;
    std::map<uint32_t, PairNode> nodes_;
    std::map<uint32_t, std::string> orders_;  // of the round: what test each node was asked for
    std::map<uint32_t, PairAnswer> answers_;  // to them
    std::map<uint32_t, Best> best_;
    std::map<uint32_t, core::Error> problem_;
    std::set<uint32_t> silent_;
    double minimum_ = 0;
    core::Duration duration_{};
    int streams_ = 1;
};

}  // namespace

Result<double> rate_of_pair(const PairSide& listener, const PairSide& connector) {
    const Result<double>&heard = listener.bytes_per_second, &sent = connector.bytes_per_second;
    if (heard && sent) return std::min(*heard, *sent);
    if (!sent && (heard || weight(sent.error()) >= weight(heard.error())))
        return std::unexpected(
            core::Error(sent.error())
                .context(fmt::format("{}, connecting to {}", connector.name, listener.name)));
    return std::unexpected(
        core::Error(heard.error()).context(fmt::format("{}, waiting for {}", listener.name, connector.name)));
}

Result<std::map<uint32_t, Outcome>> test_pairs(transfer::Root& root, const std::vector<PairNode>& nodes,
                                               const Check& check, const PairSettings& settings) {
    std::map<uint32_t, Outcome> outcomes;
    std::string why = nodes.size() < 2                     ? "needs 2 nodes that passed the checks before it"
                      : !check.get<core::Bandwidth>("min") ? "no minimum is set: give min"
                                                           : "";
    if (why.empty()) return PairTest(root, nodes, check, settings).run();
    for (const PairNode& node : nodes) outcomes[node.rank] = unsupported_outcome(why);
    return outcomes;
}

}  // namespace belay::vet
