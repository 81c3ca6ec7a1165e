// The supervisor of one task: runs its command under a recorder. It is what Slurm (or a shell) sees as the
// task: output, signals and exit status pass through it unchanged. The recorder is a process beside it, so
// that nothing that happens to recording, from a full disk to `kill -9`, reaches the job.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "observe/recorder.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::observe {

// Runs the command to its end; its streams are set here. Errors: kSystem if it cannot be started ("not found
// in PATH"). A recorder that fails is reported on stderr and the command goes on.
core::Result<core::ExitStatus> supervise(core::Command command, RecorderOptions options,
                                         const Placement& placement);

// A task that another program has started, and waits in it until it is told to go on.
struct StartedTask {
    core::Process process;
    core::Descriptor output;  // to read from: what it prints
    core::Descriptor error;   // and its messages
    core::Descriptor
        control;  // a socket: takes a byte to go on, gives os-release(5) of the task's system, ends
};
// As above. Errors: kSystem; the task is killed then.
core::Result<core::ExitStatus> supervise(StartedTask task, RecorderOptions options,
                                         const Placement& placement);

// Whether /proc/PID/cgroup says that Slurm's cgroup plugins hold the process.
bool is_in_step_cgroup(std::string_view text);

}  // namespace belay::observe
