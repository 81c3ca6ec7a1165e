#include "bench/summary/package.h"
#include "bench/summary/seeds.h"
#include "bench/summary/system_description.h"
#include "many_parsers.h"

#include <cmath>
#include <string>

namespace {

using namespace belay::bench;

constexpr size_t kRequiredFields = 33;

// What others packed: the description of a system, what the checker is to skip, a factor, and seeds.
void description(std::string_view text) {
    const auto system = parse_system_description(text, "systems/machine.json");
    if (!system) return;
    require(system->missing.size() <= kRequiredFields);
    if (const auto accelerators = system->accelerators()) require(!(*accelerators < 0));
}
void parameters(std::string_view text) {
    const Bypass official = parse_bypass(text, true);
    const Bypass ours = parse_bypass(text, false);
    require(!official.rcp || ours.rcp);
    require(!official.seeds || ours.seeds);
}
void scaling(std::string_view text) {
    const auto factor = parse_scaling(text, "scaling.json");
    if (!factor) return;
    require(*factor > 0);
    const auto again = parse_scaling(format_scaling(*factor), "scaling.json");
    require(again && *again == *factor);
}
void seeds(std::string_view text) {
    const SeedsOfRun run{"result_0.txt", {{"train.py:1", {std::string(text), text.size() % 2 == 0}}}};
    const SeedVerdict verdict = check_seeds(std::vector{run, run});
    require(verdict.errors.size() == 1 || verdict.errors.size() == 2);
}

constexpr void (*kParsers[])(std::string_view) = {description, parameters, scaling, seeds};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
