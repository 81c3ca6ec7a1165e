#include "bench/roofline/machine_json.h"

#include "core/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::bench::roofline {

namespace {

using core::Result;
using nlohmann::ordered_json;

constexpr int kMostRanks = 1 << 24;

core::Failure not_a_machine(std::string_view file, std::string_view why) {
    return core::bad_input("{}: {}", file, why)
        .hint("it is made by: belay bench roofline --measure --keep FILE");
}

const ordered_json* member(const ordered_json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(key);
    return at == object.end() || at->is_null() ? nullptr : &*at;
}

// A number above 0; nothing where it is absent.
Result<std::optional<double>> positive(const ordered_json& object, std::string_view key,
                                       std::string_view file) {
    const ordered_json* value = member(object, key);
    if (value == nullptr) return std::optional<double>();
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (!(number > 0) || !std::isfinite(number))
        return not_a_machine(file, fmt::format("\"{}\" must be a number above 0", key));
    return std::optional(number);
}

Result<int> count(const ordered_json& object, std::string_view key, int otherwise, std::string_view file) {
    BELAY_TRY(value, positive(object, key, file));
    if (!value) return otherwise;
    if (*value > kMostRanks || *value != std::floor(*value))
        return not_a_machine(file, fmt::format("\"{}\" must be a whole number", key));
    return static_cast<int>(*value);
}

Result<Number> parse_number(const ordered_json& object, std::string_view file) {
    Number number;
    BELAY_TRY(value, positive(object, "value", file));
    number.value = value;
    if (const ordered_json* sense = member(object, "sense")) {
        const auto known = sense->is_string() ? sense_named(sense->get<std::string>()) : std::nullopt;
        if (!known) return not_a_machine(file, "\"sense\" must be \"value\", \"at_least\" or \"at_most\"");
        number.sense = *known;
    }
    if (const ordered_json* source = member(object, "source"); source != nullptr && source->is_string())
        number.source = source->get<std::string>();
    return number;
}

}  // namespace

double bus_bandwidth(double bytes, double seconds, int ranks) {
    return 2.0 * (ranks - 1) / ranks * bytes / seconds;
}

ordered_json to_json(const Number& number) {
    ordered_json value;
    if (number.value && std::isfinite(*number.value)) value = *number.value;
    return {{"value", value}, {"sense", to_text(number.sense)}, {"source", number.source}};
}

ordered_json to_json(const MeasuredMachine& measured) {
    ordered_json rates = ordered_json::object();
    for (const Resource resource : kResources) {
        const Number& rate = measured.machine.rate(resource);
        rates[std::string(to_text(resource))] = rate.value ? to_json(rate) : ordered_json(nullptr);
    }
    ordered_json all_reduce;
    if (const auto& done = measured.all_reduce)
        all_reduce = {{"bytes", done->bytes},
                      {"repeats", done->repeats},
                      {"seconds", done->seconds},
                      {"median_seconds", done->median_seconds}};
    ordered_json threads;
    if (measured.threads > 0) threads = measured.threads;
    return {{"schema", kMachineSchema}, {"ranks", measured.ranks}, {"nodes", measured.nodes},
            {"threads", threads},       {"rates", rates},          {"all_reduce", all_reduce}};
}

Result<MeasuredMachine> parse_machine(std::string_view text, std::string_view file) {
    BELAY_TRY(json, core::parse_json_file(text, std::string(file)));
    const ordered_json* schema = member(json, "schema");
    if (schema == nullptr || *schema != kMachineSchema)
        return not_a_machine(file, "does not hold what was measured of a machine");
    MeasuredMachine measured;
    BELAY_TRY(ranks, count(json, "ranks", 1, file));
    BELAY_TRY(nodes, count(json, "nodes", 1, file));
    BELAY_TRY(threads, count(json, "threads", 0, file));
    measured.ranks = ranks, measured.nodes = nodes, measured.threads = threads;
    if (const ordered_json* rates = member(json, "rates"))
        for (const Resource resource : kResources)
            if (const ordered_json* rate = member(*rates, to_text(resource))) {
                BELAY_TRY(number, parse_number(*rate, file));
                measured.machine.rate(resource) = std::move(number);
            }
    if (const ordered_json* done = member(json, "all_reduce")) {
        BELAY_TRY(bytes, positive(*done, "bytes", file));
        BELAY_TRY(repeats, count(*done, "repeats", 1, file));
        BELAY_TRY(seconds, positive(*done, "seconds", file));
        BELAY_TRY(median, positive(*done, "median_seconds", file));
        constexpr double kMostBytes = 1e18;
        if (bytes && *bytes <= kMostBytes && seconds)
            measured.all_reduce = {.bytes = static_cast<uint64_t>(*bytes),
                                   .repeats = repeats,
                                   .seconds = *seconds,
                                   .median_seconds = median.value_or(*seconds)};
    }
    return measured;
}

}  // namespace belay::bench::roofline
