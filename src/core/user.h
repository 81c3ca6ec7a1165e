// Names of the machine's users.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <functional>
#include <string>
#include <sys/types.h>

namespace belay::core {

// As the system knows it, or the number where it does not, or does not say so within 10 s: a directory
// service that is down is asked once. The rule about threads is that of core/work.h.
std::string user_name(uid_t user);

// Errors: kBadInput, kNotFound, for a name that the system does not know; kSystem, kTimedOut too, where it
// cannot say.
Result<uid_t> user_id(const std::string& name);

// A call as getpwnam_r(3), which returns an errno: again with a larger buffer while the answer does not fit
// (ERANGE), up to 16 MiB. Entries of directory services may be long. Its last answer.
int ask_with_room(const std::function<int(char* buffer, size_t bytes)>& call);

}  // namespace belay::core
