#include "bench/summary/seeds.h"

#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace belay::bench {

namespace {

// As Python's int(text): blanks around it, a sign, and single underscores between digits; of any length.
std::optional<std::string> whole_number_in_text(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+')) text.remove_prefix(1);
    std::string digits;
    bool may_be_underscore = false;
    for (const char each : text) {
        if (each == '_' && std::exchange(may_be_underscore, false)) continue;
        if (each < '0' || each > '9') return std::nullopt;
        digits += each;
        may_be_underscore = true;
    }
    if (!may_be_underscore) return std::nullopt;  // nothing, or an underscore at the end
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return is_negative && digits != "0" ? "-" + digits : digits;
}

// As Python's int(value) of what a JSON value can be: 7.9, "7" and " +7" are 7, true is 1, "7.9" and "1e3" are none.
std::optional<std::string> whole_number(const LoggedSeed& seed) {
    if (seed.is_text) return whole_number_in_text(seed.value);
    if (seed.value == "true") return "1";
    if (seed.value == "false") return "0";
    if (auto whole = whole_number_in_text(seed.value)) return whole;
    const auto number = core::parse_number<double>(seed.value);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return fmt::format("{:.0f}", std::trunc(*number) + 0.0);  // of -0.5: 0, without a sign
}

}  // namespace

SeedVerdict check_seeds(std::span<const SeedsOfRun> runs) {
    SeedVerdict verdict;
    std::map<std::pair<std::string, std::string>, std::string> seen;  // (place, seed) -> the log that has it
    for (const SeedsOfRun& run : runs) {
        if (run.seeds.empty()) verdict.errors.push_back(fmt::format("{} logs no seed", run.file));
        if (run.seeds.size() > 1)
            verdict.warnings.push_back(fmt::format("{} logs {} seeds", run.file, run.seeds.size()));
        for (const auto& [place, logged] : run.seeds) {
            const std::optional<std::string> seed = whole_number(logged);
            if (!seed) {
                verdict.errors.push_back(
                    fmt::format("{} logs the seed {} at {}, which is not a whole number", run.file,
                                logged.is_text ? fmt::format("\"{}\"", logged.value) : logged.value, place));
                continue;
            }
            const auto [found, is_new] = seen.try_emplace({place, *seed}, run.file);
            if (!is_new)
                verdict.errors.push_back(fmt::format("{} logs the seed {} at {}, as {} does", run.file, *seed,
                                                     place, found->second));
        }
    }
    return verdict;
}

}  // namespace belay::bench
