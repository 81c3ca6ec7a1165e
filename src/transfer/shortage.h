// When there is no room for another connection: what is lacking, how long to rest before the next look, and
// whether nodes may be missing for this reason.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <optional>
#include <sys/resource.h>

namespace belay::transfer {

// Raises the soft limit of open files to the hard one while it lives: 1024 in most places, below the nodes of
// a large step.
class MoreFiles {
  public:
    MoreFiles();
    MoreFiles(const MoreFiles&) = delete;
    MoreFiles& operator=(const MoreFiles&) = delete;
    ~MoreFiles();

  private:
    rlimit before_{};
    bool raised_ = false;
};

// Times are those of a monotonic clock.
class Shortage {
  public:
    // What accept4(2) lacks; of its other errors, the connection is to blame that was to be taken.
    static bool is_lack(int error);
    static constexpr int kPlaces = 0;  // strangers have taken them

    // There was no room: an errno value of the above or kPlaces.
    void note(int lack, core::Duration now);
    // A connection ended, or one could be taken: there may be room again.
    void relieve();
    // No connection should be taken before; past, if one may.
    core::Duration resting_until() const { return resting_until_; }

    // Why nodes may be missing, if there was no room so lately that they have not come again since.
    std::optional<core::Error> why(core::Duration now) const;
    // Whether the machine lacked something last, and not only places for strangers.
    bool is_of_machine() const { return lack_ && *lack_ != kPlaces; }
    // Whether this process may not open more files and none has become free for some time.
    bool lasts(core::Duration now) const;

  private:
    std::optional<int> lack_;
    std::optional<core::Duration> since_;
    core::Duration last_{};
    core::Duration resting_until_{};
};

}  // namespace belay::transfer
