// Names of the machine's users.
#pragma once

#include <string>
#include <sys/types.h>

namespace belay::core {

// As the system knows it, or the number where it does not, or does not say so within 10 s: a directory
// service that is down is asked once. The rule about threads is that of core/work.h.
std::string user_name(uid_t user);

}  // namespace belay::core
