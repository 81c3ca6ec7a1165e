// A child process that helps a collector where a call may hang or crash: it is left with a socket to its
// parent and nothing of the job's.
#pragma once

#include "core/deadline.h"
#include "core/process.h"

#include <functional>
#include <string_view>
#include <vector>

namespace belay::observe::collect {

inline constexpr std::string_view kHelperName = "belay-";  // with which names of helpers begin

struct Helper {
    core::Process process;
    core::Descriptor socket;  // of the parent; messages keep their borders
};

// Forks a child of this name that calls `serve` with its end of the socket and ends, at the latest when its
// parent does. It has /dev/null as 0, 1 and 2 and no descriptor but the socket, and ignores all signals but
// faults and SIGKILL. The rule about threads is that of core/fork.h. `send_bytes`: the child's longest
// message, where it is longer than the system's default. Errors: kSystem.
core::Result<Helper> start_helper(const char* name, const std::function<void(int socket)>& serve,
                                  int send_bytes = 0);

// Why a helper whose socket is at its end gives no answer: "WHO ended without an answer, with signal 9".
// kEnded; waits up to half a second for the end, which is near.
core::Error how_it_ended(core::Process& helper, std::string_view who);

// Whether a helper that was killed is gone.
bool has_ended(core::Process& helper);

// At the end of those who killed them: waits 100 ms for all of them together, then leaves the others behind.
void leave(std::vector<core::Process> killed);

}  // namespace belay::observe::collect
