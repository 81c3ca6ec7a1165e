#include "core/tell.h"

#include <cerrno>
#include <string>
#include <unistd.h>

namespace belay::core {

void tell_text(std::string_view text) {
    std::string line = fmt::format("belay: {}\n", text);
    for (size_t written = 0; written < line.size();) {
        ssize_t size = write(STDERR_FILENO, line.data() + written, line.size() - written);
        if (size < 0 && errno != EINTR) return;
        if (size > 0) written += static_cast<size_t>(size);
    }
}

}  // namespace belay::core
