// Starts a command whose calls (all that calls() names) are passed to whoever holds the listener.
#pragma once

#include "core/error.h"
#include "core/file.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::fault {

struct Filtered {
    pid_t process;
    core::Descriptor listener;
};

// The first call that the listener gets is the execve of the command. Errors: kSystem.
core::Result<Filtered> start_filtered(const std::vector<std::string>& command);

}  // namespace belay::fault
