#include "bench/analysis/analysis.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::bench {

std::string figure_file_name(const Figure& figure) {
    // A benchmark's name comes from a log: nothing that leads elsewhere.
    std::string name;
    for (char c : figure.benchmark) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        name += plain ? c : '_';
    }
    constexpr size_t kLongestName = 64;
    name.resize(std::min(name.size(), kLongestName));
    return fmt::format("{}{}{}_{}", name, name.empty() ? "" : "_", figure.number, figure.id);
}

}  // namespace belay::bench
