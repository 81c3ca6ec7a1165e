#include "vet/pairs.h"

#include <algorithm>
#include <random>

namespace belay::vet {

namespace {

// Rounds in which suspects meet each other while nobody has passed yet; then the fabric is suspected.
constexpr int kRoundsWithoutGood = 3;
constexpr size_t kFailuresToConvict = 2;

}  // namespace

PairPlanner::PairPlanner(std::vector<uint32_t> nodes, uint64_t seed) : order_(std::move(nodes)) {
    // Not std::shuffle: its order differs between libraries, and tests state what comes out.
    std::mt19937_64 random(seed);
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
    for (uint32_t node : order_) nodes_[node] = {};
}

bool PairPlanner::any_good() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& entry) { return entry.second.good && !entry.second.excluded; });
}

std::vector<Pair> PairPlanner::next_round() {
    if (finished_) return {};
    std::vector<Pair> pairs = round_ == 0                   ? first_round()
                              : any_good()                  ? with_good_partners()
                              : round_ < kRoundsWithoutGood ? among_suspects()
                                                            : std::vector<Pair>{};
    ++round_;
    finished_ = pairs.empty();
    return pairs;
}

std::vector<Pair> PairPlanner::first_round() {
    std::vector<Pair> pairs;
    for (size_t i = 0; i + 1 < order_.size(); i += 2) pairs.emplace_back(order_[i], order_[i + 1]);
    return pairs;
}

// Nobody passed: other pairs of the same nodes, those first that have met fewest.
std::vector<Pair> PairPlanner::among_suspects() {
    std::multimap<size_t, uint32_t> by_meetings;
    for (uint32_t node : order_) by_meetings.emplace(nodes_[node].tried.size(), node);
    std::vector<uint32_t> order;
    for (auto [meetings, node] : by_meetings) order.push_back(node);
    std::vector<Pair> pairs;
    std::set<uint32_t> busy;
    for (uint32_t a : order)
        for (uint32_t b : order) {
            if (a == b || busy.contains(a) || busy.contains(b) || nodes_[a].excluded || nodes_[b].excluded)
                continue;
            if (nodes_[a].tried.contains(b)) continue;
            pairs.emplace_back(a, b);
            busy.insert({a, b});
        }
    return pairs;
}

bool PairPlanner::is_partner(uint32_t node, uint32_t candidate, const std::set<uint32_t>& busy) const {
    const Node& other = nodes_.at(candidate);
    return candidate != node && other.good && !other.excluded && !other.doubted && !busy.contains(candidate);
}

// No other node could clear it: what is known must do.
bool PairPlanner::doubts_end_here(uint32_t node) const {
    return std::none_of(order_.begin(), order_.end(),
                        [&](uint32_t other) { return is_partner(node, other, {}); });
}

std::vector<Pair> PairPlanner::with_good_partners() {
    std::vector<Pair> pairs;
    std::set<uint32_t> busy;
    auto pair_up = [&](uint32_t node, bool new_partner) {
        for (uint32_t partner : order_) {
            if (!is_partner(node, partner, busy) ||
                (new_partner && nodes_[node].measured_by.contains(partner)))
                continue;
            pairs.emplace_back(node, partner);
            busy.insert({node, partner});
            return;
        }
    };
    for (uint32_t node : order_)
        if (nodes_[node].doubted && doubts_end_here(node)) nodes_[node].doubted = false;
    for (uint32_t node : order_)
        if (nodes_[node].doubted && !nodes_[node].excluded && !busy.contains(node)) pair_up(node, false);
    for (uint32_t node : order_) {
        const Node& state = nodes_[node];
        if (!state.good && !state.excluded && state.failures.size() < kFailuresToConvict) pair_up(node, true);
    }
    return pairs;
}

void PairPlanner::record(Pair pair, bool passed) {
    auto& [first, second] = pair;
    Node &a = nodes_[first], &b = nodes_[second];
    a.tried.insert(second);
    b.tried.insert(first);
    if (b.good) a.measured_by.insert(second);
    if (passed) {
        for (Node* node : {&a, &b}) {
            node->confirmed = node->confirmed || node->doubted;
            node->good = true;
            node->doubted = false;
            node->failures.clear();
        }
        return;
    }
    if (!b.good) return;  // two suspects: no news of either
    if (a.doubted) {
        // The good partner fails with another good node: it was no measure for anybody.
        a.good = a.doubted = false;
        for (auto& [id, node] : nodes_) node.failures.erase(first);
    } else if (!b.confirmed) {
        b.doubted = true;
    }
    a.failures.insert(second);
}

void PairPlanner::exclude(uint32_t node) {
    nodes_[node].excluded = true;
    nodes_[node].doubted = false;
    for (auto& [id, other] : nodes_) other.failures.erase(node);
}

PairVerdict PairPlanner::verdict(uint32_t node) const {
    const Node& state = nodes_.at(node);
    if (state.good) return PairVerdict::kGood;
    if (!finished_) return PairVerdict::kUntested;
    return state.failures.empty() ? PairVerdict::kInconclusive : PairVerdict::kConvicted;
}

std::vector<uint32_t> PairPlanner::failed_with(uint32_t node) const {
    const auto& failures = nodes_.at(node).failures;
    return {failures.begin(), failures.end()};
}

}  // namespace belay::vet
