// How much CPU time the children of a process used that no sample of them shows. The kernel adds what a child
// used, its own children's included, to its parent once that has waited for it (proc_pid_stat(5): cutime,
// cstime); what of it was seen while the child ran has been counted there.
#pragma once

#include <algorithm>
#include <cstdint>

namespace belay::observe::collect {

// In clock ticks. One for each process; at each look add_seen() for the children that are gone, then look().
class EndedChildren {
  public:
    // `counted`: of the time of ended children, what is not to be counted again.
    explicit EndedChildren(int64_t counted) : seen_(counted) {}
    EndedChildren() = default;

    // A child is gone for which this was the last that was seen of it.
    void add_seen(int64_t ticks) { seen_now_ += ticks; }

    // `all`: of all children that were waited for. It has what children used that are gone since the look
    // before; of those that are gone since this one it may not have it yet. So what it still lacks then of
    // the earlier ones never comes: nobody waited for them.
    void look(int64_t all) {
        seen_ = std::min(seen_, all - unseen_);
        seen_ += seen_now_;
        seen_now_ = 0;
        unseen_ = std::max(unseen_, all - seen_);
    }

    // Never falls.
    int64_t unseen() const { return unseen_; }

  private:
    int64_t seen_ = 0;
    int64_t seen_now_ = 0;
    int64_t unseen_ = 0;
};

}  // namespace belay::observe::collect
