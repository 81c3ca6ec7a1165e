// The system's resolver, asked in a process of its own: glibc waits for each server as long as resolv.conf
// says, and nothing else bounds how long that takes.
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <functional>
#include <optional>
#include <string>

namespace belay::core {

// The first address of a name, numeric, or nothing where it is not known. May take as long as it likes.
using NameService = std::function<std::optional<std::string>(const std::string& name)>;

// That of the system.
std::optional<std::string> ask_name_service(const std::string& name);

// Errors: kSystem, kNotFound for a name that is not known, kTimedOut where no answer came. The rule about
// threads is that of core/work.h.
Result<std::string> address_of_name(const std::string& name, const Deadline& deadline,
                                    const NameService& service = ask_name_service);

}  // namespace belay::core
