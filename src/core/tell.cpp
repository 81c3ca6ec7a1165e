#include "core/tell.h"

#include "core/utf8.h"

#include <cerrno>
#include <string>
#include <unistd.h>

namespace belay::core {

namespace {

void write_to_stderr(std::string_view line) {
    for (size_t written = 0; written < line.size();) {
        ssize_t size = write(STDERR_FILENO, line.data() + written, line.size() - written);
        if (size < 0 && errno != EINTR) return;
        if (size > 0) written += static_cast<size_t>(size);
    }
}

}  // namespace

void tell_text(std::string_view text) {
    write_to_stderr(fmt::format("belay: {}\n", text));
}

void tell_error(std::string_view what, const Error& error, std::string_view then) {
    std::string lines =
        fmt::format("belay: {}: {}{}{}\n", what, printable(error.headline()), then.empty() ? "" : "; ", then);
    if (!error.hint_text().empty()) lines += fmt::format("hint: {}\n", printable(error.hint_text()));
    write_to_stderr(lines);
}

std::string in_one_line(const Error& error) {
    std::string line = error.headline();
    if (!error.hint_text().empty()) line += "; " + error.hint_text();
    return line;
}

}  // namespace belay::core
