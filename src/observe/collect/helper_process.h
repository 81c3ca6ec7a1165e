// What a child that helps a collector does first: it is left with a socket to its parent and nothing of the
// job's.
#pragma once

#include <sys/types.h>

namespace belay::observe::collect {

inline constexpr int kHelperSocket = 3;

// In the child, right after fork: takes the name, ends when `parent` does, keeps /dev/null as 0, 1 and 2 and
// the socket as kHelperSocket, ignores all signals but faults and SIGKILL. Only async-signal-safe calls.
void become_helper(const char* name, int socket, pid_t parent);

}  // namespace belay::observe::collect
