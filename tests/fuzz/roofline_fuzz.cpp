#include "bench/compliance/facts.h"
#include "bench/roofline/machine_json.h"
#include "bench/roofline/report.h"
#include "bench/roofline/run_facts.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

// A log of a run, or what was kept of a machine: neither may crash, and what is read can be reported on or is refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    namespace roofline = belay::bench::roofline;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto machine = roofline::parse_machine(text, "machine.json");
    if (machine) {
        const auto again = roofline::parse_machine(
            to_json(*machine).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
            "again");
        if (!again) std::abort();
    }
    const auto facts = belay::bench::facts_of_log(text, "run.log");
    if (!facts) return 0;
    const roofline::MeasuredMachine known{
        .machine = {
            .rates = {roofline::Number{.value = 1e12}, {.value = 1e11}, {.value = 1e9}, {.value = 1e8}}}};
    if (const auto report =
            roofline::report_on(roofline::run_facts_of(*facts, "run.log"), known, {}, std::nullopt))
        (void)to_json(*report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return 0;
}
