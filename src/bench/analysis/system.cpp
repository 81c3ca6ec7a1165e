#include "bench/analysis/system.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Key =
    std::tuple<std::string, std::string, double, double, std::string, std::string, std::string, std::string>;

std::string name_of(const RunInput& input) {
    if (!input.system.empty()) return input.system;
    return input.facts.platform.empty() ? "unknown system" : input.facts.platform;
}

// Of logs that do not say it, -1: they stand together, first.
double sortable(std::optional<double> value) {
    return value && std::isfinite(*value) ? *value : -1;
}

Key key_of(const RunInput& input) {
    const std::string name = name_of(input);
    return {input.facts.benchmark,
            family_of(name),
            sortable(compute_units(input)),
            sortable(input.facts.global_batch_size),
            name,
            input.submitter.empty() ? input.facts.organisation : input.submitter,
            input.facts.division,
            input.scaling};
}

std::vector<double> collect(const SystemResult& system, std::optional<double> Run::* member) {
    std::vector<double> values;
    for (size_t index : system.counted)
        if (const auto& value = system.runs[index].*member) values.push_back(*value);
    return values;
}

struct Mean {
    Spread SystemResult::* to;
    std::optional<double> Run::* from;
    bool of_rates;
};
constexpr Mean kMeans[] = {
    {&SystemResult::seconds, &Run::seconds, false},
    {&SystemResult::staging, &Run::staging, false},
    {&SystemResult::epochs_seconds, &Run::epochs_seconds, false},
    {&SystemResult::evaluation, &Run::evaluation, false},
    {&SystemResult::training, &Run::training, false},
    {&SystemResult::other, &Run::other, false},
    {&SystemResult::epochs, &Run::epochs, false},
    {&SystemResult::epoch_seconds, &Run::epoch_seconds, false},
    {&SystemResult::unit_hours, &Run::unit_hours, false},
    {&SystemResult::epoch_throughput, &Run::epoch_throughput, true},
    {&SystemResult::sample_throughput, &Run::sample_throughput, true},
    {&SystemResult::train_throughput, &Run::train_throughput, true},
    {&SystemResult::evaluation_throughput, &Run::evaluation_throughput, true},
    {&SystemResult::staging_throughput, &Run::staging_throughput, true},
};

void choose_counted(SystemResult& system) {
    std::vector<size_t> usable;
    std::vector<double> seconds;
    std::map<std::string, size_t> missing;
    for (size_t i = 0; i < system.runs.size(); ++i) {
        if (!system.runs[i].missing.empty()) {
            ++missing[system.runs[i].missing];
            continue;
        }
        usable.push_back(i);
        seconds.push_back(*system.runs[i].seconds);
    }
    for (const auto& [why, count] : missing)
        system.notes.push_back(fmt::format("{} of {} runs left out: {}", count, system.runs.size(), why));
    // Instances of weak scaling all count.
    if (system.scaling == "weak") {
        system.counted = usable;
        return;
    }
    for (size_t position : olympic(seconds, system.wanted)) system.counted.push_back(usable[position]);
    if (usable.empty())
        system.notes.emplace_back("no run of this system can be analysed");
    else if (usable.size() < 3)
        system.notes.push_back(fmt::format("{}: the fastest and the slowest cannot be left out",
                                           usable.size() == 1 ? "one run" : "two runs"));
    else if (system.wanted > 0 && usable.size() + 1 < system.wanted)
        system.notes.push_back(
            fmt::format("{} of the {} runs that an official score needs", usable.size(), system.wanted));
}

void summarize_system(SystemResult& system) {
    choose_counted(system);
    for (const Mean& mean : kMeans) {
        const auto values = collect(system, mean.from);
        // A mean over some of the runs would stand beside one over all.
        if (values.size() != system.counted.size()) continue;
        system.*mean.to = mean.of_rates ? harmonic_spread_of(values) : spread_of(values);
    }
    system.samples_per_epoch = mean_of(collect(system, &Run::samples_per_epoch));
    system.train_samples = mean_of(collect(system, &Run::train_samples));
    system.data_wait = mean_of(collect(system, &Run::data_wait));
    system.exposed_communication = mean_of(collect(system, &Run::exposed_communication));
    if (system.staging.mean && system.epoch_seconds.mean && *system.epoch_seconds.mean > 0)
        system.staging_per_epoch = *system.staging.mean / *system.epoch_seconds.mean;
    if (system.evaluation.mean && system.seconds.mean && *system.seconds.mean > 0)
        system.evaluation_share = *system.evaluation.mean / *system.seconds.mean;
    std::vector<double> errors;
    for (size_t index : system.counted) {
        const Run& run = system.runs[index];
        if (run.model_seconds && run.seconds)
            errors.push_back((*run.model_seconds - *run.seconds) / *run.seconds);
    }
    system.model_error = mean_of(errors);
    system.variability = log_components(collect(system, &Run::epochs), collect(system, &Run::epoch_seconds),
                                        &system.variability_missing);
    if (system.scaling == "weak" && !system.counted.empty()) {
        double first = *system.runs[system.counted.front()].start;
        double last = *system.runs[system.counted.front()].stop;
        for (size_t index : system.counted) {
            first = std::min(first, *system.runs[index].start);
            last = std::max(last, *system.runs[index].stop);
        }
        system.time_to_train_all = last - first;
    }
}

void add_efficiency(std::vector<SystemResult>& systems) {
    std::map<std::pair<std::string, std::string>, std::pair<double, double>>
        smallest;  // units, throughput of each
    auto per_unit = [](const SystemResult& system) -> std::optional<double> {
        if (!system.units || !system.sample_throughput.mean) return std::nullopt;
        return *system.sample_throughput.mean / *system.units;
    };
    for (const SystemResult& system : systems)
        if (const auto own = per_unit(system))
            smallest.try_emplace({system.benchmark, system.family}, *system.units, *own);
    for (SystemResult& system : systems)
        if (const auto own = per_unit(system))
            system.efficiency = *own / smallest.at({system.benchmark, system.family}).second;
}

}  // namespace

std::string SystemResult::label() const {
    std::string text = name;
    if (units) text += fmt::format(", {:g} {}", *units, *units == 1 ? "unit" : "units");
    if (batch) text += fmt::format(", batch {:g}", *batch);
    if (division == "open") text += ", open";
    return text;
}

std::string family_of(std::string_view name) {
    const size_t end = name.find_first_of("_-");
    if (end == name.npos || end == 0) return std::string(name);
    const std::string_view head = name.substr(0, end);
    const bool holds_scale = head.back() >= '0' && head.back() <= '9';
    return std::string(holds_scale ? name : head);
}

std::vector<SystemResult> group_runs(std::span<const RunInput> inputs, const GroupOptions& options) {
    std::map<Key, std::vector<const RunInput*>> groups;
    for (const RunInput& input : inputs) groups[key_of(input)].push_back(&input);
    std::vector<SystemResult> systems;
    for (const auto& [key, members] : groups) {
        const RunInput& one = *members.front();
        SystemResult system;
        std::tie(system.benchmark, system.family, std::ignore, std::ignore, system.name, system.submitter,
                 system.division, system.scaling) = key;
        system.units = compute_units(one);
        system.nodes = one.facts.nodes ? one.facts.nodes : one.nodes;
        if (one.facts.global_batch_size && std::isfinite(*one.facts.global_batch_size))
            system.batch = one.facts.global_batch_size;
        if (options.runs_wanted) system.wanted = options.runs_wanted(system.benchmark).value_or(0);
        for (const RunInput* input : members) system.runs.push_back(decompose(*input));
        for (const auto& [name, factor] : options.adjustments)
            if (name == system.name) {
                for (Run& run : system.runs) run = adjust(run, factor, system.units);
                system.notes.push_back(
                    fmt::format("epochs and all times but staging were multiplied by {:.4f}", factor));
            }
        if (!system.units)
            system.notes.emplace_back("number_of_nodes is missing: nothing is said of its scale");
        if (!one.staging_moves_data) system.notes.emplace_back("staging left out: nothing is copied in it");
        summarize_system(system);
        systems.push_back(std::move(system));
    }
    add_efficiency(systems);
    return systems;
}

bool overlap(std::span<const Run> runs) {
    std::vector<std::pair<double, double>> times;
    for (const Run& run : runs)
        if (run.start && run.stop) times.emplace_back(*run.start, *run.stop);
    std::ranges::sort(times);
    double latest = -1;
    for (const auto& [start, stop] : times) {
        if (start < latest) return true;
        latest = std::max(latest, stop);
    }
    return false;
}

}  // namespace belay::bench
