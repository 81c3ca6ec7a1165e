#include "shard/crc32c.h"

#include <algorithm>
#include <climits>
#include <isa-l/crc.h>

namespace belay::shard {

uint32_t crc32c(std::string_view bytes, uint32_t before) {
    uint32_t state = ~before;
    while (!bytes.empty()) {
        const size_t size = std::min<size_t>(bytes.size(), INT_MAX);
        // It reads only; the parameter lacks the const.
        auto* data = reinterpret_cast<unsigned char*>(
            const_cast<char*>(bytes.data()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        state = crc32_iscsi(data, static_cast<int>(size), state);
        bytes.remove_prefix(size);
    }
    return ~state;
}

}  // namespace belay::shard
