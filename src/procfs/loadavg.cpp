#include "procfs/loadavg.h"

#include "procfs/scan.h"

namespace belay::procfs {

std::optional<double> parse_loadavg(std::string_view text) {
    std::string_view line;
    if (!Lines(text).next(line)) return std::nullopt;
    return decimal(Words(line).next());
}

}  // namespace belay::procfs
