#include "procfs/statm.h"

#include "procfs/scan.h"

namespace belay::procfs {

std::optional<int64_t> parse_anonymous_pages(std::string_view text) {
    std::string_view line;
    if (!Lines(text).next(line)) return std::nullopt;
    Words words(line);
    words.skip(1);  // address space
    const std::optional<int64_t> resident = count(words.next());
    const std::optional<int64_t> shared = count(words.next());
    if (!resident || !shared || *shared > *resident) return std::nullopt;
    return *resident - *shared;
}

}  // namespace belay::procfs
