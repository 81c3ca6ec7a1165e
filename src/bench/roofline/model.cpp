#include "bench/roofline/model.h"

#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace belay::bench::roofline {

namespace {

using core::Result;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();

struct ResourceRow {
    std::string_view name, symbol, demand;
};
constexpr ResourceRow kRows[] = {{"compute", "F", "FLOP of a sample"},
                                 {"memory", "B_m", "memory bytes of a sample"},
                                 {"network", "B_n", "network bytes of a sample"},
                                 {"io", "B_io", "bytes that a sample has on storage"}};
constexpr std::string_view kSenses[] = {"value", "at_least", "at_most"};

// Between what the true number lies.
struct Range {
    double low = 0, high = kInfinite;
};

Range range_of(const Number& number) {
    if (!number.value) return {};
    switch (number.sense) {
        case Sense::kAtLeast:
            return {*number.value, kInfinite};
        case Sense::kAtMost:
            return {0, *number.value};
        case Sense::kValue:
            break;
    }
    return {*number.value, *number.value};
}

// Of numbers that are not negative: 0/0 and infinite/infinite mean that nothing is known of that end.
double quotient(double over, double under, double otherwise) {
    if (under == 0) return over == 0 ? otherwise : kInfinite;
    if (std::isinf(under)) return std::isinf(over) ? otherwise : 0;
    return over / under;
}

Result<> check(std::string_view what, const std::optional<double>& value, double lowest, bool may_be_lowest) {
    if (!value || (std::isfinite(*value) && (may_be_lowest ? *value >= lowest : *value > lowest))) return {};
    return core::bad_input("{} cannot be {:g}", what, *value)
        .hint(may_be_lowest ? fmt::format("it must be a finite number, {:g} or more", lowest)
                            : fmt::format("it must be a finite number above {:g}", lowest));
}

Result<> check_all(const Workload& workload, const Machine& machine, const std::optional<double>& attained) {
    for (const Resource resource : kResources)
        BELAY_CHECK(
            check(fmt::format("the rate {}", rate_symbol(resource)), machine.rate(resource).value, 0, false));
    for (const auto& [what, number] :
         {std::pair{kRows[0].demand, &workload.flops}, std::pair{kRows[1].demand, &workload.memory_bytes},
          std::pair{std::string_view("the size of the parameters"), &workload.parameter_bytes},
          std::pair{kRows[3].demand, &workload.io_bytes}})
        BELAY_CHECK(check(what, number->value, 0, true));
    BELAY_CHECK(check("the number of ranks", workload.ranks, 1, true));
    BELAY_CHECK(check("the batch of a rank", workload.local_batch, 0, false));
    return check("the throughput", attained, 0, false);
}

Ceiling ceiling_of(const Workload& workload, const Machine& machine, Resource resource) {
    Ceiling ceiling{
        .resource = resource, .rate = machine.rate(resource), .demand = demand_of(workload, resource)};
    const Number& rate = ceiling.rate;
    const Number& demand = ceiling.demand;
    const bool is_compute = resource == Resource::kCompute;
    ceiling.intensity = !is_compute && workload.flops.value && demand.value && *demand.value > 0
                            ? *workload.flops.value / *demand.value
                            : kUnknownValue;
    if (demand.value && *demand.value == 0 && demand.sense != Sense::kAtLeast) {
        ceiling.state = CeilingState::kNone;
        ceiling.samples_per_second = ceiling.low = ceiling.high = kInfinite;
        return ceiling;
    }
    const Range rates = range_of(rate);
    const Range demands = range_of(demand);
    ceiling.low = quotient(rates.low, demands.high, 0);
    ceiling.high = quotient(rates.high, demands.low, kInfinite);
    const bool is_known = rate.value && demand.value && *demand.value > 0;
    ceiling.state = is_known ? CeilingState::kKnown : CeilingState::kUnknown;
    ceiling.samples_per_second = is_known ? *rate.value / *demand.value : kUnknownValue;
    return ceiling;
}

// What the run did shows of a ceiling that it lies no lower. Where the numbers say that it does, one of them is
// wrong, and the run shows nothing.
double shown_low(const Ceiling& ceiling, const std::optional<double>& attained) {
    return attained && *attained <= ceiling.high * kContradiction
               ? std::max(ceiling.low, std::min(*attained, ceiling.high))
               : ceiling.low;
}

void find_binding(Analysis& analysis) {
    const Ceiling* lowest = nullptr;
    for (const Ceiling& ceiling : analysis.ceilings)
        if (ceiling.state == CeilingState::kKnown &&
            (lowest == nullptr || ceiling.samples_per_second < lowest->samples_per_second))
            lowest = &ceiling;
    if (lowest == nullptr) {
        for (const Ceiling& ceiling : analysis.ceilings)
            if (ceiling.state == CeilingState::kUnknown) analysis.may_bind.push_back(ceiling.resource);
        return;
    }
    analysis.binds = lowest->resource;
    for (const Ceiling& other : analysis.ceilings)
        if (&other != lowest && other.state != CeilingState::kNone &&
            shown_low(other, analysis.attained) < lowest->high)
            analysis.may_bind.push_back(other.resource);
    analysis.certain = analysis.may_bind.empty();
}

void add_notes(Analysis& analysis) {
    auto note = [&](std::string text) { analysis.notes.push_back(std::move(text)); };
    for (const Ceiling& ceiling : analysis.ceilings) {
        const std::string_view name = to_text(ceiling.resource);
        if (ceiling.state == CeilingState::kUnknown) {
            const bool rate_is_missing = !ceiling.rate.value;
            const std::string& why = rate_is_missing ? ceiling.rate.source : ceiling.demand.source;
            note(fmt::format(
                "{}: no ceiling is known without {}{}{}", name,
                rate_is_missing ? rate_symbol(ceiling.resource) : kRows[index_of(ceiling.resource)].demand,
                why.empty() ? "" : ": ", why));
        } else if (const auto share = analysis.share(ceiling.resource); share && *share > kContradiction) {
            note(fmt::format(
                "{}: the run did {:.2f} times what the ceiling allows, so its rate or what a sample "
                "needs was measured wrong, or under other conditions",
                name, *share));
        }
    }
    if (!analysis.binds || analysis.certain) return;
    std::vector<std::string> names;
    for (const Resource resource : analysis.may_bind) names.emplace_back(to_text(resource));
    note(fmt::format("{} binds by what is known; {} could lie lower", to_text(*analysis.binds),
                     core::join(names, ", ")));
}

}  // namespace

std::string_view to_text(Resource resource) {
    return kRows[index_of(resource)].name;
}
std::string_view rate_symbol(Resource resource) {
    return kRows[index_of(resource)].symbol;
}

std::string_view to_text(Sense sense) {
    return kSenses[static_cast<size_t>(sense)];
}

std::optional<Sense> sense_named(std::string_view name) {
    for (const Sense sense : {Sense::kValue, Sense::kAtLeast, Sense::kAtMost})
        if (to_text(sense) == name) return sense;
    return std::nullopt;
}

std::string amount_text(double value, std::string_view unit) {
    constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t prefix = 0;
    while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) value /= 1000, ++prefix;
    return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

Number network_bytes(const Workload& workload) {
    if (!workload.ranks) return {.source = "the number of ranks is not known"};
    const double ranks = *workload.ranks;
    if (ranks <= 1) return {.value = 0, .source = "one rank"};
    if (!workload.local_batch) return {.source = "the batch is not known"};
    if (!workload.parameter_bytes.value) return {.source = "the size of the parameters is not known"};
    return {.value = 2 * (ranks - 1) / ranks * *workload.parameter_bytes.value / *workload.local_batch,
            .sense = workload.parameter_bytes.sense,
            .source = fmt::format("2 (R - 1)/R {:.6g} B / {:g} samples, R = {:g}",
                                  *workload.parameter_bytes.value, *workload.local_batch, ranks)};
}

Number demand_of(const Workload& workload, Resource resource) {
    switch (resource) {
        case Resource::kCompute:
            return workload.flops;
        case Resource::kMemory:
            return workload.memory_bytes;
        case Resource::kNetwork:
            return network_bytes(workload);
        case Resource::kIo:
            break;
    }
    return workload.io_bytes;
}

std::optional<double> Analysis::bound() const {
    return binds ? std::optional(ceiling(*binds).samples_per_second) : std::nullopt;
}

std::optional<double> Analysis::share() const {
    return binds ? share(*binds) : std::nullopt;
}

std::optional<double> Analysis::share(Resource resource) const {
    if (!attained || ceiling(resource).state != CeilingState::kKnown) return std::nullopt;
    return *attained / ceiling(resource).samples_per_second;
}

std::optional<double> Analysis::attained_flops_per_second() const {
    return attained && workload.flops.value ? std::optional(*attained * *workload.flops.value) : std::nullopt;
}

Result<Analysis> analyze(Workload workload, Machine machine, std::optional<double> attained) {
    BELAY_CHECK(check_all(workload, machine, attained));
    Analysis analysis{.workload = std::move(workload), .machine = std::move(machine), .attained = attained};
    for (const Resource resource : kResources)
        analysis.ceilings[index_of(resource)] = ceiling_of(analysis.workload, analysis.machine, resource);
    find_binding(analysis);
    add_notes(analysis);
    return analysis;
}

}  // namespace belay::bench::roofline
