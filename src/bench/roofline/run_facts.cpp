#include "bench/roofline/run_facts.h"

#include <cmath>
#include <string_view>
#include <utility>

namespace belay::bench::roofline {

namespace {

constexpr double kBytesOfParameter = 4;  // gradients are added up in float32, as all our models train

std::optional<double> not_negative(const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

Number number_from(const std::optional<double>& value, Sense sense, std::string_view source) {
    const auto known = not_negative(value);
    return known ? Number{.value = known, .sense = sense, .source = std::string(source)} : Number{};
}

std::optional<double> share_of_step(const std::optional<double>& part, const std::optional<double>& step) {
    if (!part || !step || !(*step > 0)) return std::nullopt;
    return *part / *step;
}

}  // namespace

RunFacts run_facts_of(const LogFacts& log, std::string source) {
    RunFacts facts{
        .source = std::move(source),
        .benchmark = log.benchmark,
        .samples_per_second = not_negative(log.samples_per_second),
        .ranks = not_negative(log.ranks),
        .nodes = not_negative(log.nodes),
        .global_batch = not_negative(log.global_batch_size),
        .train_samples = not_negative(log.train_samples),
        .eval_samples = not_negative(log.eval_samples),
        .flops = number_from(log.flops_per_sample, Sense::kValue, "the model's count"),
        .memory_bytes = number_from(log.memory_bytes_per_sample, Sense::kAtLeast, "the model's count"),
        .step_seconds = log.step_seconds,
        .data_wait_seconds = log.data_wait_seconds_per_step,
        .exposed_communication_seconds = log.exposed_communication_seconds_per_step};
    if (log.model_parameters)
        facts.parameter_bytes = number_from(kBytesOfParameter * *log.model_parameters, Sense::kValue,
                                            "model_parameters_count in float32");
    const auto accelerators = not_negative(log.accelerators_per_node);
    if (!facts.ranks && facts.nodes && accelerators && *accelerators > 0)
        facts.ranks = *facts.nodes * *accelerators;
    return facts;
}

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

}  // namespace belay::bench::roofline
