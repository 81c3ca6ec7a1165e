// The system's resolver, asked in a process of its own: glibc waits for each server as long as resolv.conf
// says, and nothing else bounds how long that takes.
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <functional>
#include <string>

namespace belay::core {

// The first address of a name, numeric. Errors: kSystem, kNotFound for a name that is not known; where the
// service itself failed, another cause. May take as long as it likes.
using NameService = std::function<Result<std::string>(const std::string& name)>;

// That of the system.
Result<std::string> ask_name_service(const std::string& name);

// What a failure of getaddrinfo(3) or getnameinfo(3) means: kNotFound only where the service says that there
// is no such name or that it has no address, kUnreachable where no server could be asked or none could tell.
// `errno_value` counts where the status is EAI_SYSTEM.
Error name_service_error(int status, int errno_value, const std::string& name);

// Errors: as the service's; kTimedOut where no answer came. The rule about threads is that of core/work.h.
Result<std::string> address_of_name(const std::string& name, const Deadline& deadline,
                                    const NameService& service = ask_name_service);

}  // namespace belay::core
