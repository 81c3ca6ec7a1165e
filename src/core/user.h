// Names of the machine's users.
#pragma once

#include "core/error.h"

#include <string>
#include <sys/types.h>

namespace belay::core {

// As the system knows it, or the number where it does not, or does not say so within 10 s: a directory
// service that is down is asked once. The rule about threads is that of core/work.h.
std::string user_name(uid_t user);

// Errors: kBadInput, kNotFound, for a name that the system does not know; kSystem, kTimedOut too, where it
// cannot say.
Result<uid_t> user_id(const std::string& name);

}  // namespace belay::core
