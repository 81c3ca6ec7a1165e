#include "bench/roofline/run_facts.h"

#include "progress/mllog.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::bench::roofline {

namespace {

using core::Result;
using progress::Json;

constexpr double kBytesOfParameter = 4;  // gradients are added up in float32, as all our models train

std::optional<double> number_in(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const auto number = value.get<double>();
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<double> number_at(const Json& object, std::string_view key) {
    const auto at = object.find(key);
    return at == object.end() ? std::nullopt : number_in(*at);
}

// Reads the whole log: intervals by what numbers them.
class LogReader {
  public:
    explicit LogReader(std::string_view file) : reader_(std::string(file)) {}

    void take(const progress::MllogEvent& event) {
        if (!event.key || !event.value) return;
        const std::string& key = *event.key;
        const Json& value = *event.value;
        if (key == "submission_benchmark" && value.is_string()) reader_.benchmark(value.get<std::string>());
        if (key == "tracked_stats" && value.is_object()) reader_.tracked(row_of(value));
        if (const auto number = number_in(value)) reader_.number(key, *number);
        if (key == "weights_digest" && event.metadata && event.metadata->is_object())
            if (const auto by_rank = event.metadata->find("by_rank");
                by_rank != event.metadata->end() && by_rank->is_array())
                reader_.number("number_of_ranks", static_cast<double>(by_rank->size()));
        take_interval(event);
    }
    RunFacts finish() const { return reader_.finish(); }

  private:
    static FactsReader::Tracked row_of(const Json& value) {
        return {.step = number_at(value, "step"),
                .samples_per_second = number_at(value, "samples_per_second"),
                .step_seconds = number_at(value, "step_seconds"),
                .flops_per_second = number_at(value, "fp32_flops_per_second"),
                .memory_bytes_per_second = number_at(value, "memory_bytes_per_second"),
                .data_wait_seconds = number_at(value, "data_wait_seconds"),
                .exposed_communication_seconds = number_at(value, "exposed_communication_seconds")};
    }

    void take_interval(const progress::MllogEvent& event) {
        if (!event.time_ms) return;
        constexpr std::array<std::string_view, 4> kKeys = {"epoch_start", "epoch_stop", "eval_start",
                                                           "eval_stop"};
        for (size_t i = 0; i < kKeys.size(); ++i) {
            if (*event.key != kKeys[i]) continue;
            std::optional<double>& start = starts_[i / 2];
            if (i % 2 == 0) {
                start = *event.time_ms;
            } else if (start && *event.time_ms >= *start) {
                const double milliseconds = *event.time_ms - *start;
                i < 2 ? reader_.epoch(milliseconds) : reader_.evaluation(milliseconds);
                start.reset();
            }
        }
    }

    FactsReader reader_;
    std::array<std::optional<double>, 2> starts_;
};

}  // namespace

void FactsReader::number(std::string_view key, double value) {
    const std::pair<std::string_view, std::optional<double>*> numbers[] = {
        {"global_batch_size", &facts_.global_batch}, {"number_of_nodes", &facts_.nodes},
        {"number_of_ranks", &facts_.ranks},          {"train_samples", &facts_.train_samples},
        {"eval_samples", &facts_.eval_samples},      {"accelerators_per_node", &accelerators_per_node_},
        {"model_parameters_count", &parameters_}};
    const std::pair<std::string_view, Number*> amounts[] = {{"flops_per_sample", &facts_.flops},
                                                            {"memory_bytes_per_sample", &facts_.memory_bytes},
                                                            {"stored_bytes_per_sample", &facts_.io_bytes}};
    if (!std::isfinite(value) || value < 0) return;
    for (const auto& [name, to] : numbers)
        if (key == name) *to = value;
    for (const auto& [name, to] : amounts)
        if (key == name)
            *to = {.value = value,
                   .sense = to == &facts_.memory_bytes ? Sense::kAtLeast : Sense::kValue,
                   .source = "the model's count"};
}

void FactsReader::tracked(const Tracked& row) {
    if (!row.samples_per_second || !(*row.samples_per_second > 0)) return;
    const double step = row.step.value_or(last_step_ + 1);
    // A log of several runs begins again.
    const double steps = std::isfinite(step) && step > last_step_ ? step - last_step_ : std::max(step, 1.0);
    last_step_ = step;
    // A mean of rates over one amount of work is harmonic: of the seconds that a sample took.
    rate_.add(1 / *row.samples_per_second, steps);
    if (row.flops_per_second) flops_.add(*row.flops_per_second / *row.samples_per_second, steps);
    if (row.memory_bytes_per_second)
        memory_.add(*row.memory_bytes_per_second / *row.samples_per_second, steps);
    if (row.step_seconds) step_seconds_.add(*row.step_seconds, steps);
    if (row.data_wait_seconds) data_wait_.add(*row.data_wait_seconds, steps);
    if (row.exposed_communication_seconds) communication_.add(*row.exposed_communication_seconds, steps);
    steps_ += steps;
}

void FactsReader::epoch(double milliseconds) {
    ++epochs_;
    epoch_seconds_ += milliseconds / 1000;
}

void FactsReader::evaluation(double milliseconds) {
    evaluation_seconds_ += milliseconds / 1000;
}

RunFacts FactsReader::finish() const {
    RunFacts facts = facts_;
    if (const auto inverse = rate_.mean()) {
        facts.samples_per_second = 1 / *inverse;
        facts.throughput_source = "tracked_stats";
        if (facts.global_batch) {
            facts.samples = steps_ * *facts.global_batch;
            facts.seconds = *facts.samples * *inverse;
        }
    } else if (const double seconds = epoch_seconds_ - evaluation_seconds_;
               epochs_ > 0 && seconds > 0 && facts.train_samples && *facts.train_samples > 0) {
        facts.samples = epochs_ * *facts.train_samples;
        facts.seconds = seconds;
        facts.samples_per_second = *facts.samples / seconds;
        facts.throughput_source = "epochs without evaluations";
    }
    if (!facts.flops.value && flops_.mean())
        facts.flops = {.value = flops_.mean(), .source = "the model's count"};
    if (!facts.memory_bytes.value && memory_.mean())
        facts.memory_bytes = {
            .value = memory_.mean(), .sense = Sense::kAtLeast, .source = "the model's count"};
    if (parameters_)
        facts.parameter_bytes = {.value = kBytesOfParameter * *parameters_,
                                 .source = "model_parameters_count in float32"};
    if (!facts.ranks && facts.nodes && accelerators_per_node_ && *accelerators_per_node_ > 0)
        facts.ranks = *facts.nodes * *accelerators_per_node_;
    facts.step_seconds = step_seconds_.mean();
    facts.data_wait_seconds = data_wait_.mean();
    facts.exposed_communication_seconds = communication_.mean();
    return facts;
}

namespace {

std::optional<double> share_of_step(const std::optional<double>& part, const std::optional<double>& step) {
    if (!part || !step || !(*step > 0)) return std::nullopt;
    return *part / *step;
}

}  // namespace

std::optional<double> RunFacts::data_wait_share() const {
    return share_of_step(data_wait_seconds, step_seconds);
}
std::optional<double> RunFacts::communication_share() const {
    return share_of_step(exposed_communication_seconds, step_seconds);
}

Workload RunFacts::workload() const {
    return {.name = benchmark.empty() ? source : benchmark,
            .flops = flops,
            .memory_bytes = memory_bytes,
            .parameter_bytes = parameter_bytes,
            .io_bytes = io_bytes,
            .ranks = ranks,
            .local_batch =
                global_batch && ranks && *ranks > 0 ? std::optional(*global_batch / *ranks) : std::nullopt};
}

std::optional<double> RunFacts::samples_per_second_of_rank() const {
    if (!samples_per_second || !ranks || !(*ranks > 0)) return std::nullopt;
    return *samples_per_second / *ranks;
}

Result<RunFacts> facts_of_log(std::string_view log, std::string_view file) {
    LogReader reader(file);
    bool any = false;
    for (const progress::MllogLine& line : progress::parse_mllog(log)) {
        if (!line.event) continue;
        any = true;
        reader.take(*line.event);
    }
    if (!any)
        return core::bad_input("{}: no line of it is MLLOG", file)
            .hint("name what a training run printed, with lines that begin with :::MLLOG");
    return reader.finish();
}

}  // namespace belay::bench::roofline
