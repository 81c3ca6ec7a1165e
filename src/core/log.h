// Log lines on standard error, one line each, with UTC time so that those of several nodes can be merged:
//
//   2026-03-01T12:00:00.123456Z belay warning: node n3 sent nothing for 10 s
//
// They tell what goes on inside; what a person has to know is an Error or a command's output.
// BELAY_LOG=debug|info|warning| error|off says how much is written. Callable from any thread.
#pragma once

#include "core/error.h"

#include <string_view>

#include <fmt/format.h>

namespace belay::core {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// The name in every line, and the level: $BELAY_LOG if set, else `level`. Without it, "belay" and kWarning.
// Errors: kBadInput for a word in BELAY_LOG that is no level.
Result<> start_logging(std::string_view program, LogLevel level = LogLevel::kWarning);

bool log_enabled(LogLevel level);

// Control characters, also line feeds, are written as escapes: what a log line quotes cannot forge another.
void log_text(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(level)) log_text(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace belay::core
