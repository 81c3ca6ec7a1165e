#include "procfs/children.h"

#include "core/text.h"
#include "procfs/scan.h"

namespace belay::procfs {

// "12 345 ": a blank stands behind each, so that what has none may be cut.
std::vector<pid_t> parse_children(std::string_view text) {
    std::vector<pid_t> children;
    Words words(text.substr(0, text.rfind(' ') + 1));
    for (std::string_view word = words.next(); !word.empty(); word = words.next())
        if (auto pid = core::parse_number<pid_t>(word); pid && *pid > 0) children.push_back(*pid);
    return children;
}

}  // namespace belay::procfs
