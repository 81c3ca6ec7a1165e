#include "procfs/pressure.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

constexpr std::string_view kTotal = "total=";

std::optional<int64_t> total(Words words) {
    for (std::string_view word = words.next(); !word.empty(); word = words.next())
        if (word.starts_with(kTotal)) return count(word.substr(kTotal.size()));
    return std::nullopt;
}

}  // namespace

Pressure parse_pressure(std::string_view text) {
    Pressure pressure;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        if (name == "some") pressure.some = total(words);
        if (name == "full") pressure.full = total(words);
    }
    return pressure;
}

}  // namespace belay::procfs
