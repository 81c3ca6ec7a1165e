// Which of many nodes is slow, from tests of pairs: the two-pass method of Google's cluster-health-scanner
// (nccl_runner.py): pairs first, then the suspects with good partners. Pure: it plans rounds and is told how
// they went.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace belay::vet {

enum class PairVerdict {
    kUntested,      // still to be decided
    kGood,          // passed with some partner
    kConvicted,     // failed with good partners, where there are two with two of them
    kInconclusive,  // failed, but nobody passed whom it could be tested with: the fabric or the threshold may
                    // be to blame
};

using Pair = std::pair<uint32_t, uint32_t>;

class PairPlanner {
  public:
    // `seed` shuffles who meets whom first.
    PairPlanner(std::vector<uint32_t> nodes, uint64_t seed);

    // The pairs to test now, all at once, no node twice; none when all is decided. record() each before the
    // next call.
    std::vector<Pair> next_round();
    void record(Pair pair, bool passed);
    // A node that no longer answers takes no further part; its failures convict nobody.
    void exclude(uint32_t node);

    PairVerdict verdict(uint32_t node) const;
    // The good partners with whom a node failed.
    std::vector<uint32_t> failed_with(uint32_t node) const;

  private:
    struct Node {
        bool good = false;
        bool excluded = false;
        bool doubted = false;    // a suspect failed with it: it is tested once more with another good node
        bool confirmed = false;  // that was done
        std::set<uint32_t> tried = {};
        std::set<uint32_t> measured_by = {};  // partners that were good when they met
        std::set<uint32_t> failures = {};     // with partners that were good
    };
    std::vector<Pair> first_round();
    std::vector<Pair> among_suspects();
    std::vector<Pair> with_good_partners();
    bool any_good() const;
    bool is_partner(uint32_t node, uint32_t candidate, const std::set<uint32_t>& busy) const;
    bool doubts_end_here(uint32_t node) const;

    std::vector<uint32_t> order_;
    std::map<uint32_t, Node> nodes_;
    int round_ = 0;
    bool finished_ = false;
};

}  // namespace belay::vet
