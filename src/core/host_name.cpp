#include "core/host_name.h"

#include "core/utf8.h"

#include <algorithm>
#include <climits>
#include <unistd.h>

namespace belay::core {

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name - 1) != 0 || *name == '\0') return "localhost";
    std::string out = to_valid_utf8(name);
    std::ranges::replace(out, '/', '_');
    return out;
}

}  // namespace belay::core
