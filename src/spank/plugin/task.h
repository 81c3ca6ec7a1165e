// What happens in a task between Slurm's fork and its exec.
#pragma once

#include <cstdint>

struct spank_handle;

namespace belay::spank {

struct TaskContext {
    spank_handle* spank;
    const char* program;  // belay-step
    const char* plan;
    char** environment;  // of the task; Slurm's, which moves when a variable is set
    char** command;      // of the job; nothing if Slurm does not say
    int link[2];         // tasks read answers from the first, belay-step writes to the second
    int notices;         // for the container's holder
    int task;            // number on this node
    uint32_t tasks;      // of this node
    int parent;          // slurmstepd's process id
    // Whether it is an error to run without what was asked for; not of a step that is only recorded.
    bool must_be_prepared;
};

// Returns in the task as it is to be executed: in its container, with its variables, under its supervisor.
// What was refused, or could not be prepared, ends every task of the step here, with 1 and without Slurm's
// lines; what fails in this task alone (no memory, no process) ends this one. A step that is only recorded
// then runs without its record.
void start_task(const TaskContext& context);

}  // namespace belay::spank
