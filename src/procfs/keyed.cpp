#include "procfs/keyed.h"

#include "procfs/scan.h"

#include <algorithm>

namespace belay::procfs {

void parse_keyed(std::string_view text, std::span<const Keyed> wanted,
                 std::span<std::optional<int64_t>> values) {
    std::ranges::fill(values, std::nullopt);
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view key = words.next();
        if (key.ends_with(':')) key.remove_suffix(1);
        const auto found = std::ranges::find(wanted, key, &Keyed::key);
        if (found == wanted.end()) continue;
        const std::optional<int64_t> value = count(words.next());
        if (words.next() == (found->in_kibibytes ? "kB" : ""))
            values[static_cast<size_t>(found - wanted.begin())] =
                scaled(value, found->in_kibibytes ? kKibibyte : 1);
    }
}

}  // namespace belay::procfs
