// A child process that helps a collector where a call may hang or crash: it is left with a socket to its
// parent and nothing of the job's.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/time.h"

#include <functional>
#include <string_view>
#include <sys/types.h>

namespace belay::observe::collect {

inline constexpr int kHelperSocket = 3;
inline constexpr std::string_view kHelperName = "belay-";  // with which names of helpers begin

// Parent and child read the same clock.
core::Duration monotonic_now();

struct Helper {
    pid_t pid = -1;
    core::Descriptor socket;  // of the parent; messages keep their borders
};

// Forks a child of this name that calls `serve` and ends, at the latest when its parent does. It has
// /dev/null as 0, 1 and 2, the socket as kHelperSocket and no other descriptor, and ignores all signals but
// faults and SIGKILL. Where this process has threads, `serve` may make only async-signal-safe calls.
// `send_bytes`: the child's longest message, where it is longer than the system's default. Errors: kSystem.
core::Result<Helper> start_helper(const char* name, const std::function<void()>& serve, int send_bytes = 0);

// Whether a child that was killed is gone; it is waited for then, and may be asked for once.
bool has_ended(pid_t child);

// Calls it until it is true, for 100 ms: one that is stuck in the kernel outlives SIGKILL.
void wait_for_killed(const std::function<bool()>& all_have_ended);

}  // namespace belay::observe::collect
