#include "procfs/meminfo.h"

#include "procfs/keyed.h"

#include <array>

namespace belay::procfs {

Meminfo parse_meminfo(std::string_view text) {
    static constexpr Keyed kWanted[] = {{"MemTotal", true}, {"MemAvailable", true}};
    std::array<std::optional<int64_t>, std::size(kWanted)> values;
    parse_keyed(text, kWanted, values);
    return {.total = values[0], .available = values[1]};
}

}  // namespace belay::procfs
