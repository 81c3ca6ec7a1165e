#include "procfs/schedstat.h"

#include "procfs/scan.h"

namespace belay::procfs {

std::optional<int64_t> parse_run_delay(std::string_view text) {
    std::string_view line;
    if (!Lines(text).next(line)) return std::nullopt;
    Words words(line);
    words.skip(1);  // time on a CPU
    return count(words.next());
}

}  // namespace belay::procfs
