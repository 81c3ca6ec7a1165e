#pragma once

#include <optional>
#include <sys/types.h>

namespace belay::observe {

// The slurmstepd among the ancestors of a process: the one that started the step's tasks on this node.
std::optional<pid_t> slurmstepd_above(pid_t pid);

}  // namespace belay::observe
