#include "core/terminal.h"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace belay::core {

namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

bool shows_colour(int fd) {
    return isatty(fd) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

size_t terminal_columns(int fd, size_t otherwise) {
    winsize size{};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

}  // namespace belay::core
