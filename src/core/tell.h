// One line of a message to standard error, for processes that must go on whatever becomes of it: a full disk,
// a closed terminal and a reader that is gone are no reason to fail. Commands that end return an Error
// instead.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace belay::core {

// "belay: TEXT" and a line feed, in one write(2).
void tell_text(std::string_view text);

template <typename... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
    tell_text(fmt::format(format, std::forward<Args>(args)...));
}

// "belay: WHAT: MESSAGE", with "; THEN" where something is said, and the hint on a line of its own.
void tell_error(std::string_view what, const Error& error, std::string_view then = {});

// What recording that fails says then. For those only who know that there is a job and that nothing stops it.
inline constexpr std::string_view kJobGoesOn = "the job goes on";

// The headline and the hint behind it, for what has one line for both: an event, a list of what is missing.
std::string in_one_line(const Error& error);

}  // namespace belay::core
