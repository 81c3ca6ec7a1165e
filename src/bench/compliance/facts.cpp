#include "bench/compliance/facts.h"

#include "bench/compliance/tracked_stats.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr std::array<std::string_view, 27> kFactKeys = {
    "submission_benchmark",
    "submission_division",
    "submission_org",
    "submission_platform",
    "submission_status",
    "run_start",
    "run_stop",
    "staging_start",
    "staging_stop",
    "epoch_start",
    "epoch_stop",
    "block_start",
    "block_stop",
    "eval_start",
    "eval_stop",
    "eval_error",
    "eval_accuracy",
    "global_batch_size",
    "train_samples",
    "eval_samples",
    "number_of_nodes",
    "accelerators_per_node",
    "number_of_ranks",
    "model_parameters_count",
    "seed",
    "resumed_from_step",
    "tracked_stats",
};

struct NumberFact {
    FactKey key;
    std::optional<double> LogFacts::* fact;
};
constexpr NumberFact kNumberFacts[] = {
    {FactKey::kGlobalBatchSize, &LogFacts::global_batch_size},
    {FactKey::kTrainSamples, &LogFacts::train_samples},
    {FactKey::kEvalSamples, &LogFacts::eval_samples},
    {FactKey::kNodes, &LogFacts::nodes},
    {FactKey::kAcceleratorsPerNode, &LogFacts::accelerators_per_node},
    {FactKey::kRanks, &LogFacts::ranks},
    {FactKey::kModelParameters, &LogFacts::model_parameters},
};

std::optional<double> LogFacts::* number_fact_of(FactKey key) {
    const auto* found = std::ranges::find(kNumberFacts, key, &NumberFact::key);
    return found == std::end(kNumberFacts) ? nullptr : found->fact;
}

std::optional<double> finite(const PythonValue* value) {
    if (value == nullptr || value->kind() == PythonValue::Kind::kBool) return std::nullopt;
    const auto number = to_float(*value);
    return number && std::isfinite(*number) ? number : std::nullopt;
}
std::optional<double> finite(const PythonValue& value) {
    return finite(&value);
}
std::optional<double> finite(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? value : std::nullopt;
}

// Seconds between the starts and the stops of something. A start within an open interval does not count: of many
// ranks the first counts. Times may be infinite or NaN, as the official parser takes them: then the seconds are not known.
class Intervals {
  public:
    void start(double at) {
        if (!start_) start_ = at;
    }
    // Whether one was open.
    bool stop(double at) {
        if (!start_) return false;
        last_ = at - *start_;
        seconds_ += last_;
        ++count_;
        start_.reset();
        return true;
    }
    bool is_open() const { return start_.has_value(); }
    double open_for(double at) const { return start_ ? at - *start_ : 0; }
    double last() const { return last_; }
    int64_t count() const { return count_; }
    std::optional<double> seconds() const {
        return finite(count_ > 0 ? std::optional(seconds_) : std::nullopt);
    }

  private:
    std::optional<double> start_;
    double seconds_ = 0, last_ = 0;
    int64_t count_ = 0;
};

class FactsOfLog {
  public:
    LogFacts read(const LogLines& log) {
        for (const LogEvent& event : log.events) take(event, event.time_ms / 1000);
        finish();
        return std::move(facts_);
    }

  private:
    void take(const LogEvent& event, double at) {
        const auto key = static_cast<FactKey>(event.key);
        switch (key) {
            case FactKey::kBenchmark:
                return take_name(facts_.benchmark, event);
            case FactKey::kDivision:
                return take_name(facts_.division, event);
            case FactKey::kOrganisation:
                return take_name(facts_.organisation, event);
            case FactKey::kPlatform:
                return take_name(facts_.platform, event);
            case FactKey::kStatus:
                return take_name(facts_.status, event);
            case FactKey::kRunStart:
                if (!has_ended()) start_ = at;
                return;
            case FactKey::kRunStop:
                return take_stop(event, at);
            case FactKey::kGlobalBatchSize:
            case FactKey::kTrainSamples:
            case FactKey::kEvalSamples:
            case FactKey::kNodes:
            case FactKey::kAcceleratorsPerNode:
            case FactKey::kRanks:
            case FactKey::kModelParameters:
                facts_.*number_fact_of(key) = finite(event.value);
                return;
            case FactKey::kSeed:
                return take_seed(event);
            case FactKey::kEvalError:
            case FactKey::kEvalAccuracy:
                result_epoch_ = finite(event.metadata.member("epoch_num"));
                result_ = finite(event.value);
                if (!has_ended()) ++results_;
                return;
            default:
                if (!has_ended()) take_interval(event, at);
        }
    }

    // As the official summarizer: as soon as there is a start and a stop, in whatever order.
    bool has_ended() const { return start_ && stop_; }

    static void take_name(std::string& name, const LogEvent& event) {
        if (name.empty() && event.value.is_text()) name = core::to_valid_utf8(event.value.text());
    }

    void take_stop(const LogEvent& event, double at) {
        const PythonValue* status = event.metadata.member("status");
        const bool success = status != nullptr && equals(*status, "success");
        epochs_ = success ? result_epoch_ : std::nullopt;
        if (has_ended()) return;
        stop_ = at;
        facts_.success = success;
        facts_.has_status = status != nullptr;
        facts_.last_epoch = result_epoch_;
        facts_.last_result = result_;
        end_evaluation(at);
        for (Intervals* open : {&epoch_, &block_, &staging_}) open->stop(at);
    }

    void start_evaluation(double at) {
        if (!evaluation_.is_open()) is_within_epoch_ = epoch_.is_open();
        evaluation_.start(at);
    }
    void end_evaluation(double at) {
        if (evaluation_.stop(at) && is_within_epoch_) evaluation_of_epoch_ += evaluation_.last();
    }
    // Of an epoch that the run's end cuts off it is not known how many of its samples it has trained on.
    void end_epoch(double at) {
        if (is_within_epoch_ && evaluation_.is_open()) {
            evaluation_of_epoch_ += evaluation_.open_for(at);
            is_within_epoch_ = false;
        }
        if (epoch_.stop(at)) {
            ++whole_epochs_;
            training_of_whole_epochs_ += epoch_.last() - evaluation_of_epoch_;
        }
        evaluation_of_epoch_ = 0;
    }

    void take_seed(const LogEvent& event) {
        const PythonValue* file = event.metadata.member("file");
        const PythonValue* line = event.metadata.member("lineno");
        const std::string place =
            fmt::format("{}:{}", file != nullptr && file->is_text() ? core::to_valid_utf8(file->text()) : "",
                        line != nullptr ? shown(*line) : "");
        const bool is_text = event.value.is_text();
        facts_.seeds.try_emplace(
            place,
            LoggedSeed{is_text ? core::to_valid_utf8(event.value.text()) : shown(event.value), is_text});
    }

    void take_interval(const LogEvent& event, double at) {
        switch (static_cast<FactKey>(event.key)) {
            case FactKey::kStagingStart:
                if (!facts_.staging_start) facts_.staging_start = at;
                return staging_.start(at);
            case FactKey::kStagingStop:
                staging_.stop(at);
                return;
            case FactKey::kEpochStart:
                return epoch_.start(at);
            case FactKey::kEpochStop:
                return end_epoch(at);
            case FactKey::kBlockStart:
                return block_.start(at);
            case FactKey::kBlockStop:
                block_.stop(at);
                return;
            case FactKey::kEvalStart:
                return start_evaluation(at);
            case FactKey::kEvalStop:
                return end_evaluation(at);
            case FactKey::kResumedFromStep:
                if (const auto step = finite(event.value)) means_.begin_at(*step);
                return;
            case FactKey::kTrackedStats:
                return take_statistics(event.value);
            default:
                return;
        }
    }

    // Of Belay's trainer, and of others that say how fast they are.
    void take_statistics(const PythonValue& value) {
        const auto number = [&](std::string_view name) { return finite(value.member(name)); };
        means_.add({.step = number("step"),
                    .samples_per_second = number("samples_per_second"),
                    .step_seconds = number("step_seconds"),
                    .flops_per_second = number("fp32_flops_per_second"),
                    .memory_bytes_per_second = number("memory_bytes_per_second"),
                    .data_wait_seconds = number("data_wait_seconds"),
                    .exposed_communication_seconds = number("exposed_communication_seconds")});
    }

    void finish() {
        facts_.run_start = finite(start_);
        facts_.run_stop = finite(stop_);
        facts_.staging_start = finite(facts_.staging_start);
        if (facts_.run_start && facts_.run_stop) facts_.minutes = (*facts_.run_stop - *facts_.run_start) / 60;
        if (epochs_) facts_.epochs = std::round(*epochs_ * 1000) / 1000;
        facts_.staging_seconds = staging_.seconds();
        facts_.evaluation_seconds = evaluation_.seconds();
        facts_.epochs_seconds = epoch_.count() > 0 ? epoch_.seconds() : block_.seconds();
        facts_.evaluations = evaluation_.count() > 0 ? evaluation_.count() : results_;
        facts_.samples_per_second = throughput();
        means_.put_into(facts_);  // what the trainer measured goes before
    }

    // Of the epochs without the evaluations in them.
    std::optional<double> throughput() const {
        const auto training = finite(std::optional(training_of_whole_epochs_));
        if (!training || !(*training > 0) || !facts_.train_samples) return std::nullopt;
        return whole_epochs_ * *facts_.train_samples / *training;
    }

    LogFacts facts_;
    std::optional<double> start_, stop_, result_epoch_, result_, epochs_;
    int64_t results_ = 0;
    Intervals staging_, epoch_, block_, evaluation_;
    bool is_within_epoch_ = false;
    double evaluation_of_epoch_ = 0;  // of the one that is open
    double whole_epochs_ = 0, training_of_whole_epochs_ = 0;
    MeansOverSteps means_;
};

}  // namespace

std::span<const std::string_view> fact_keys() {
    return kFactKeys;
}

std::optional<double> LogFacts::* number_fact(std::string_view key) {
    const auto* found = std::ranges::find(kFactKeys, key);
    return number_fact_of(static_cast<FactKey>(found - kFactKeys.begin()));
}

LogFacts facts_of(const LogLines& log) {
    return FactsOfLog().read(log);
}

core::Result<LogFacts> facts_of_log(std::string_view bytes, std::string_view file) {
    KeySet keys;
    for (std::string_view key : kFactKeys) keys.add(key);
    const LogLines log = read_log(bytes, keys);
    if (log.parsed_lines == 0)
        return core::bad_input("{}: no line of it is MLLOG", file)
            .hint("name what a training run printed, with lines that begin with :::MLLOG");
    return facts_of(log);
}

}  // namespace belay::bench
