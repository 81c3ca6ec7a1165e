// What this machine is called.
#pragma once

#include <string>

namespace belay::core {

// As the kernel has it, with its domain if it has one; "localhost" where it has no name. Valid UTF-8, and fit
// to stand in the name of a file.
std::string host_name();

}  // namespace belay::core
