// What happens in a task between Slurm's fork and its exec.
#pragma once

#include <cstdint>

struct spank_handle;

namespace belay::spank {

struct TaskContext {
    spank_handle* spank;
    const char* program;  // belay-step
    const char* plan;
    char** environment;  // of the task
    char** command;      // of the job; nothing if Slurm does not say
    int link[2];
    int task;        // number on this node
    uint32_t tasks;  // of this node
};

// Returns in the task as it shall be executed: in its container, with its variables, under its supervisor. If
// anything fails, no task of the node runs: this process ends with 1, without Slurm's lines.
void start_task(const TaskContext& context);

}  // namespace belay::spank
