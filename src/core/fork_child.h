// What fork.cpp and process.cpp share: the way of a child from fork to its work, with async-signal-safe calls
// only, and how it tells its parent what kept it from there.
#pragma once

#include "core/deadline.h"
#include "core/fork.h"

#include <array>
#include <optional>
#include <string_view>

namespace belay::core {

enum class ChildStep : int { kFork, kIntroduction, kGroup, kStreams, kDescriptors, kDirectory, kExec };

struct ChildFailure {
    ChildStep step;
    int errno_value;
};

// Everything that the child needs, prepared before fork: between fork and exec nothing may allocate or lock,
// because another thread of the parent may have held the lock.
struct ChildPlan {
    const ForkOptions* options;
    std::array<int, 3> streams = {-1, -1, -1};  // become 0, 1 and 2; -1: as they are
    std::vector<int> kept = {};                 // options->keep in order, with the status descriptor
    const char* directory = nullptr;            // null: stay
    bool pass_kept = false;                     // to the program that it becomes, in spite of O_CLOEXEC
    pid_t parent = -1;
    int status = -1;  // a CLOEXEC socket to the parent
};

// The descriptors of a status channel, both above 2 also where this process runs without standard
// descriptors.
struct StatusChannel {
    Descriptor parent, child;
};
Result<StatusChannel> make_status_channel();

ChildPlan plan_child(const ForkOptions& options, const StatusChannel& status);

// In the child. Returns once all of the plan is done; ends the child where something fails.
void become_child(const ChildPlan& plan);
[[noreturn]] void fail_child(const ChildPlan& plan, ChildStep step, int errno_value);

// In the parent: what the child failed at, or nothing once it has closed its end. Errors: kSystem, kTimedOut
// where neither came until the deadline.
Result<std::optional<ChildFailure>> read_child_failure(int status, const Deadline& deadline);

// fork(2) with all signals blocked, so that no handler of this process runs in the child, where they stay
// blocked until become_child. -1 with errno where it failed.
pid_t fork_blocked();

int open_pidfd(pid_t pid);

std::string_view step_name(ChildStep step);

}  // namespace belay::core
