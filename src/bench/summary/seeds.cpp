#include "bench/summary/seeds.h"

#include "core/text.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace belay::bench {

namespace {

// As Python's int(value) of what a JSON value can be: 7.9 and "7" are 7.
std::optional<std::string> whole_number(std::string_view text) {
    text = core::trim(text);
    if (const auto number = core::parse_number<int64_t>(text)) return std::to_string(*number);
    const auto number = core::parse_number<double>(text);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return fmt::format("{:.0f}", std::trunc(*number));
}

}  // namespace

SeedVerdict check_seeds(std::span<const SeedsOfRun> runs) {
    SeedVerdict verdict;
    std::map<std::pair<std::string, std::string>, std::string> seen;  // (place, seed) -> the log that has it
    for (const SeedsOfRun& run : runs) {
        if (run.seeds.empty()) verdict.errors.push_back(fmt::format("{} logs no seed", run.file));
        if (run.seeds.size() > 1)
            verdict.warnings.push_back(fmt::format("{} logs {} seeds", run.file, run.seeds.size()));
        for (const auto& [place, value] : run.seeds) {
            const std::optional<std::string> seed = whole_number(value);
            if (!seed) {
                verdict.errors.push_back(fmt::format(
                    "{} logs the seed \"{}\" at {}, which is not a whole number", run.file, value, place));
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
