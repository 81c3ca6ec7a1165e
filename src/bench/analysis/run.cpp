#include "bench/analysis/run.h"

#include "bench/analysis/statistics.h"
#include "progress/mllog.h"

#include <cmath>
#include <map>

namespace belay::bench {

namespace {

// Only what is finite and not negative is a time or a count.
std::optional<double> sane(std::optional<double> value) {
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::optional<double> positive(std::optional<double> value) {
    return above_zero(value) ? value : std::nullopt;
}

std::optional<double> ratio(std::optional<double> above, std::optional<double> below) {
    if (!above || !positive(below)) return std::nullopt;
    const double value = *above / *below;
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void derive_rates(Run& run, std::optional<double> units) {
    auto product = [](std::optional<double> a, std::optional<double> b) -> std::optional<double> {
        return a && b ? std::optional(*a * *b) : std::nullopt;
    };
    run.epoch_seconds = ratio(run.epochs_seconds, run.epochs);
    run.epoch_throughput = ratio(run.epochs, run.epochs_seconds);
    if (run.train_samples) {
        const auto per_epoch = ratio(run.evaluations, run.epochs);
        run.samples_per_epoch =
            std::floor(*run.train_samples + per_epoch.value_or(0) * run.eval_samples.value_or(0));
    }
    run.sample_throughput = product(run.samples_per_epoch, run.epoch_throughput);
    run.train_throughput = ratio(product(run.epochs, run.train_samples), run.training);
    run.evaluation_throughput = ratio(product(run.evaluations, run.eval_samples), run.evaluation);
    if (run.train_samples && run.eval_samples)
        run.staging_throughput = ratio(*run.train_samples + *run.eval_samples, run.staging);
    if (run.epochs && run.samples_per_epoch && positive(run.sample_throughput))
        run.model_seconds =
            run.staging.value_or(0) + *run.epochs * *run.samples_per_epoch / *run.sample_throughput;
    if (units && run.seconds) run.unit_hours = *units * *run.seconds / 3600;
}

std::string what_is_missing(const RunInput& input, const Run& run) {
    if (!run.start) return "run_start is missing";
    if (!run.stop) return "run_stop is missing: the run did not end";
    if (!run.success) return "run_stop's status is not success";
    if (!run.seconds) return "run_stop is before run_start, or its time is not a number";
    if (!run.epochs) return "it has no evaluation with an epoch number";
    if (*run.epochs <= 0) return "it has zero epochs";
    if (!run.epochs_seconds) return "epoch_start and epoch_stop are missing";
    if (!positive(run.epochs_seconds)) return "its epochs took no time";
    if (!positive(input.facts.global_batch_size)) return "global_batch_size is missing";
    return {};
}

}  // namespace

std::optional<double> compute_units(const RunInput& input) {
    const auto nodes = positive(input.facts.nodes);
    if (nodes && input.facts.accelerators_per_node) {
        const auto each = sane(input.facts.accelerators_per_node);
        if (each && *each > 0) return *nodes * *each;
        return positive(input.units) ? input.units : nodes;
    }
    if (positive(input.units)) return input.units;
    return nodes ? nodes : positive(input.nodes);
}

Run decompose(const RunInput& input) {
    const LogFacts& facts = input.facts;
    Run run;
    run.file = input.file;
    // Where the log does not say how the run ended, its results do.
    const bool is_told_by_results = !facts.has_status && facts.run_stop && input.reached_target;
    run.success = facts.success || is_told_by_results;
    run.records = input.epochs;
    auto finite = [](std::optional<double> value) {
        return value && std::isfinite(*value) ? value : std::nullopt;
    };
    run.start = finite(facts.run_start);
    run.stop = finite(facts.run_stop);
    if (run.start && run.stop) run.seconds = positive(*run.stop - *run.start);
    if (input.staging_moves_data) run.staging = positive(facts.staging_seconds);
    run.epochs_seconds = sane(facts.epochs_seconds);
    run.evaluation = sane(facts.evaluation_seconds);
    run.epochs = sane(is_told_by_results ? facts.last_epoch : facts.epochs);
    if (run.epochs && input.first_epoch && *input.first_epoch == 0) *run.epochs += 1;
    run.evaluations = static_cast<double>(std::max<int64_t>(0, facts.evaluations));
    run.train_samples = positive(facts.train_samples);
    run.eval_samples = sane(facts.eval_samples);
    // Some logs have no eval_start: the whole epoch is training then.
    if (run.epochs_seconds) run.training = sane(*run.epochs_seconds - run.evaluation.value_or(0));
    if (run.seconds && run.epochs_seconds)
        run.other = std::max(0.0, *run.seconds - run.staging.value_or(0) - *run.epochs_seconds);
    run.data_wait = sane(facts.data_wait_seconds_per_step);
    run.exposed_communication = sane(facts.exposed_communication_seconds_per_step);
    run.missing = what_is_missing(input, run);
    derive_rates(run, compute_units(input));
    return run;
}

Run adjust(const Run& run, double factor, std::optional<double> units) {
    Run result = run;
    if (!above_zero(factor)) return result;
    auto scale = [&](std::optional<double>& value) {
        if (value) *value *= factor;
    };
    if (result.seconds) {
        const double staging = result.staging.value_or(0);
        result.seconds = staging + (*result.seconds - staging) * factor;
    }
    for (auto* value : {&result.epochs, &result.evaluations, &result.epochs_seconds, &result.evaluation,
                        &result.training, &result.other})
        scale(*value);
    derive_rates(result, units);
    return result;
}

std::vector<EpochRecord> read_epochs(std::string_view bytes, size_t most) {
    std::vector<EpochRecord> result;
    std::map<double, size_t> by_number;
    std::map<double, double> evaluation_starts;
    std::optional<double> run_start;
    auto of = [&](double number) -> EpochRecord* {
        auto found = by_number.find(number);
        if (found != by_number.end()) return &result[found->second];
        if (result.size() >= most) return nullptr;
        by_number.emplace(number, result.size());
        result.push_back(
            {.number = number, .start = {}, .seconds = {}, .evaluation_seconds = {}, .metric = {}});
        return &result.back();
    };
    auto take = [&](const progress::MllogEvent& event) {
        if (!event.key || !event.time_ms) return;
        const double time = *event.time_ms / 1000;
        if (*event.key == "run_start") run_start = time;
        if (!event.metadata || !event.metadata->is_object()) return;
        const auto number = event.metadata->find("epoch_num");
        if (number == event.metadata->end() || !number->is_number()) return;
        const double epoch = number->get<double>();
        if (!std::isfinite(epoch)) return;
        EpochRecord* record = of(epoch);
        if (!record) return;
        if (*event.key == "epoch_start") record->start = time;
        if (*event.key == "epoch_stop" && record->start) record->seconds = time - *record->start;
        if (*event.key == "eval_start") evaluation_starts[epoch] = time;
        if (*event.key == "eval_stop" && evaluation_starts.contains(epoch))
            record->evaluation_seconds =
                record->evaluation_seconds.value_or(0) + time - evaluation_starts[epoch];
        if ((*event.key == "eval_error" || *event.key == "eval_accuracy") && event.value &&
            event.value->is_number())
            record->metric = event.value->get<double>();
    };
    // Most lines of a log are about something else: only those that name one of the keys are parsed.
    while (!bytes.empty()) {
        const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
        const std::string_view line = bytes.substr(0, end);
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        if (line.find("\"epoch_") == line.npos && line.find("\"eval_") == line.npos &&
            line.find("\"run_start\"") == line.npos)
            continue;
        auto event = progress::parse_mllog_line(line);
        if (event && *event) take(**event);
    }
    for (EpochRecord& record : result)
        if (record.start && run_start)
            *record.start -= *run_start;
        else
            record.start.reset();
    return result;
}

}  // namespace belay::bench
