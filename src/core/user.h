// Names of the machine's users.
#pragma once

#include <string>
#include <sys/types.h>

namespace belay::core {

// As the system knows it, or the number where it does not.
std::string user_name(uid_t user);

}  // namespace belay::core
