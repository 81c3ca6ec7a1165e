#include "stage/copy/tree.h"

#include <algorithm>

namespace belay::stage {

std::vector<uint32_t> ancestors_of(uint32_t position, uint32_t children) {
    std::vector<uint32_t> out;
    while (position > 0) out.push_back(position = parent_of(position, children));
    return out;
}

std::vector<uint32_t> children_of(uint32_t position, uint32_t children, uint32_t nodes) {
    std::vector<uint32_t> out;
    const uint64_t first = uint64_t{position} * children + 1;
    for (uint64_t child = first; child < std::min<uint64_t>(first + children, nodes); ++child)
        out.push_back(static_cast<uint32_t>(child));
    return out;
}

}  // namespace belay::stage
