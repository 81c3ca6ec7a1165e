// Notices that a process waits for a file server that does not answer: one of its threads has been in one and
// the same call about a file, and nothing of it has moved. Work that takes long but goes on is never taken
// for that, nor is waiting for a network, a lock, another process or a person.
//
//   StallWatch watch(child.pid(), 30s, system_clock());
//   for (;;) { ...; if (auto call = watch.look()) ...call->what, "open /scratch/x", has no answer since 30 s
//   }
#pragma once

#include "core/file_call.h"
#include "core/time.h"

#include <map>

namespace belay::core {

class StallWatch {
  public:
    // How much more is allowed to a call that brings to the disk what was written.
    static constexpr int kDataFactor = 10;

    // A patience of zero has no end.
    StallWatch(pid_t process, Duration patience, const Clock& clock)
        : process_(process), patience_(patience), clock_(clock), looked_(clock.monotonic()) {}

    // The time between two looks.
    Duration interval() const;
    // The call that has had no answer for as long as that is allowed.
    std::optional<FileCall> look();

  private:
    struct Seen {
        std::string evidence;
        Duration still{};
    };

    pid_t process_;
    Duration patience_;
    const Clock& clock_;
    Duration looked_;
    std::map<pid_t, Seen> threads_;
};

}  // namespace belay::core
