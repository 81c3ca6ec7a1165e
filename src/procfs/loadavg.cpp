#include "procfs/loadavg.h"

#include "core/text.h"
#include "procfs/scan.h"

#include <cmath>

namespace belay::procfs {

std::optional<double> parse_loadavg(std::string_view text) {
    std::string_view line;
    if (!Lines(text).next(line)) return std::nullopt;
    std::optional<double> load = core::parse_number<double>(Words(line).next());
    if (!load || !std::isfinite(*load) || *load < 0) return std::nullopt;
    return load;
}

}  // namespace belay::procfs
