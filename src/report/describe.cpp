#include "report/describe.h"

#include "report/format.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace belay::report {

namespace {

// Below this a record is not taken as complete (observability.md §5: rules want 80 %, a good recorder gives
// 98 %).
constexpr double kGoodCoverage = 0.98;
constexpr double kPoorCoverage = 0.80;

// The first steps compile kernels and fill caches (observability.md §6).
constexpr int64_t kStartupSteps = 10;

double highest_of(std::span<const double> values) {
    double highest = kMissing;
    for (double value : values)
        if (!is_missing(value) && (is_missing(highest) || value > highest)) highest = value;
    return highest;
}

// The mean over the nodes in each bucket.
std::vector<double> course(const Measurements& data, size_t plot) {
    std::vector<double> result;
    if (data[plot].empty()) return result;
    std::vector<double> column(data.nodes.size());
    for (size_t bucket = 0; bucket < data.buckets; ++bucket) {
        for (size_t node = 0; node < data.nodes.size(); ++node)
            column[node] = data[plot].values[node * data.buckets + bucket];
        result.push_back(mean_of(column));
    }
    return result;
}

std::vector<double> printed(const Measurements& data, double ProgressPoint::* quantity) {
    std::vector<double> values;
    for (const ProgressPoint& point : data.progress)
        if (!is_missing(point.*quantity)) values.push_back(point.*quantity);
    return values;
}

// "eval_error" -> "Eval error"
std::string readable(std::string_view key) {
    std::string text(key);
    std::ranges::replace(text, '_', ' ');
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

void judge_against_target(Training& training, const Measurements& data) {
    double first = kMissing;
    bool falling = true;
    for (const ProgressPoint& point : data.progress) {
        if (is_missing(point.metric)) continue;
        if (is_missing(first)) {
            first = point.metric;
            falling = is_missing(training.target) || first > training.target;
        }
        training.final_metric = point.metric;
        bool better = is_missing(training.best_metric) ||
                      (falling ? point.metric < training.best_metric : point.metric > training.best_metric);
        if (better) training.best_metric = point.metric;
        bool reached = !is_missing(training.target) &&
                       (falling ? point.metric <= training.target : point.metric >= training.target);
        if (reached && is_missing(training.seconds_to_target)) training.seconds_to_target = point.seconds;
    }
    if (is_missing(first) || is_missing(training.target)) return;
    training.target_reached = !is_missing(training.seconds_to_target);
}

std::string run_sentence(const ReportModel& model) {
    const Job& job = model.job;
    std::string text = job.name.empty() ? std::string("The job") : job.name;
    if (model.vetting == "fail") return text + " did not start: its nodes were not found fit.";
    text += fmt::format(" ran on {}", format_count(model.nodes.size(), "node"));
    if (model.ranks > 0)
        text += fmt::format(" with {}", format_count(static_cast<size_t>(model.ranks), "rank"));
    text += fmt::format(" for {}", format_duration(model.seconds));
    if (job.outcome == "completed") return text + " and completed.";
    if (job.outcome == "running") return text + " and was still running when this was written.";
    if (job.outcome == "failed" && !job.failure.empty())
        return text + fmt::format(" and failed: {}.", job.failure);
    if (job.outcome == "failed") return text + " and failed.";
    return text + "; how it ended is not known.";
}

std::string training_sentence(const Training& training) {
    std::string text = "It trained";
    bool only_loss = training.benchmark.empty() && is_missing(training.epochs) &&
                     is_missing(training.throughput_mean) && !training.target_reached;
    if (only_loss && !is_missing(training.final_loss))
        return fmt::format("Its last training loss was {}.", format_quantity(training.final_loss, ""));
    if (only_loss) return "Its output shows training, but neither loss nor throughput.";
    if (!training.benchmark.empty()) text += " " + training.benchmark;
    if (!is_missing(training.epochs)) {
        auto epochs = static_cast<size_t>(std::llround(training.epochs));
        text += fmt::format(" for {}", format_count(epochs, "epoch"));
    }
    if (!is_missing(training.throughput_mean))
        text += fmt::format(" at {}", format_quantity(training.throughput_mean, training.throughput_unit));
    if (!training.target_reached) return text + ".";
    std::string best = format_quantity(training.best_metric, "");
    std::string target = format_quantity(training.target, "");
    if (!*training.target_reached)
        return text + fmt::format(", but did not reach its target: the best {} was {}, the target is {}.",
                                  training.metric_label, best, target);
    return text + fmt::format(" and reached its target after {}: {} {}, target {}.",
                              format_duration(training.seconds_to_target), training.metric_label, best,
                              target);
}

std::string fact_of(const ReportModel& model, std::string_view title, std::string_view name) {
    for (const FactGroup& group : model.facts)
        for (const Fact& fact : group.facts)
            if (group.title == title && fact.name == name) return fact.value;
    return "";
}

// What stood between the job and its nodes; empty if nothing did.
std::string preparation_sentence(const ReportModel& model) {
    std::string environment = fact_of(model, "Environment", "Name");
    std::string image = fact_of(model, "Environment", "Image");
    std::string protocol = fact_of(model, "Vetting", "Protocol");
    std::string text;
    if (!environment.empty())
        text = fmt::format("It {} in the environment {}{}", model.vetting == "fail" ? "was to run" : "ran",
                           environment, image.empty() ? ", on the host" : fmt::format(" ({})", image));
    if (protocol.empty()) return text.empty() ? text : text + ".";
    text += text.empty() ? "Its nodes " : "; its nodes ";
    text += model.vetting == "pass" ? "were found fit" : "were not found fit";
    text += fmt::format(" by the protocol {}", protocol);
    std::string others;
    std::string later;  // a verdict that came after the protocol's, in an annex
    for (const FactGroup& group : model.facts)
        for (const Fact& fact : group.facts) {
            if (group.title != "Vetting" || !fact.is_deviation) continue;
            const bool came_later = fact.refuses && model.vetting == "pass";
            std::string& list = came_later ? later : others;
            list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", fact.name, fact.value);
        }
    if (!others.empty()) text += fmt::format(" ({})", others);
    if (!later.empty()) text += fmt::format(", but a later check refused some of them ({})", later);
    return text + ".";
}

// The first fact of a group as "START NAME: VALUE."; empty where there is none.
std::string first_fact_sentence(const ReportModel& model, std::string_view title, std::string_view start) {
    const auto group = std::ranges::find(model.facts, title, &FactGroup::title);
    if (group == model.facts.end() || group->facts.empty()) return "";
    const Fact& first = group->facts.front();
    const size_t others = group->facts.size() - 1;
    return fmt::format("{} {}: {}{}.", start, first.name, first.value,
                       others == 0 ? "" : fmt::format("; and {} more", others));
}

std::string resources_sentence(const Measurements& data) {
    double cpu = mean_of(data[node_plot("job_cpu_share")].means);
    double memory = highest_of(data[node_plot("job_memory_bytes")].peaks);
    std::string text;
    if (!is_missing(cpu))
        text = fmt::format("It used {} of the CPUs it was given", format_quantity(cpu, "share"));
    if (!is_missing(memory))
        text += fmt::format("{} at most {} of memory on a node", text.empty() ? "It used" : " and",
                            format_quantity(memory, "B"));
    return text.empty() ? text : text + ".";
}

std::string coverage_sentence(const ReportModel& model) {
    const Coverage& coverage = model.coverage;
    if (is_missing(coverage.total)) return "It is not known how complete the record is.";
    std::string text =
        fmt::format("{} of the expected samples were recorded", format_coverage(coverage.total));
    if (coverage.gaps_total > 0) text += fmt::format(", with {}", format_count(coverage.gaps_total, "gap"));
    if (coverage.lost.empty()) return text + "; nothing is known to be lost.";
    return text +
           fmt::format("; {} lost.", coverage.lost.size() == 1
                                         ? std::string("one thing is known to be")
                                         : fmt::format("{} things are known to be", coverage.lost.size()));
}

Tone coverage_tone(const Coverage& coverage) {
    if (is_missing(coverage.total)) return Tone::kNeutral;
    if (coverage.total < kGoodCoverage) return coverage.total < kPoorCoverage ? Tone::kBad : Tone::kWarning;
    if (!coverage.lost.empty()) return Tone::kWarning;
    return coverage.gaps_total > 0 ? Tone::kNeutral : Tone::kGood;
}

void add_training_figures(ReportModel& model, const Measurements& data) {
    const Training& training = *model.training;
    if (!is_missing(training.final_metric)) {
        KeyFigure figure{.label = training.metric_label,
                         .value = format_quantity(training.final_metric, ""),
                         .detail = "last value",
                         .spark = printed(data, &ProgressPoint::metric)};
        if (training.target_reached) {
            figure.tone = *training.target_reached ? Tone::kGood : Tone::kBad;
            figure.detail = fmt::format("target {} {}", format_quantity(training.target, ""),
                                        *training.target_reached ? "reached" : "not reached");
        }
        model.figures.push_back(std::move(figure));
    } else if (!is_missing(training.final_loss)) {
        model.figures.push_back({.label = "Training loss",
                                 .value = format_quantity(training.final_loss, ""),
                                 .detail = "last value",
                                 .spark = printed(data, &ProgressPoint::loss)});
    }
    if (!is_missing(training.throughput_mean))
        model.figures.push_back({.label = "Throughput",
                                 .value = format_quantity(training.throughput_mean, training.throughput_unit),
                                 .detail = fmt::format("peak {}", format_quantity(training.throughput_peak,
                                                                                  training.throughput_unit)),
                                 .spark = printed(data, &ProgressPoint::throughput)});
}

void add_resource_figures(ReportModel& model, const Measurements& data) {
    constexpr size_t kJobCpu = node_plot("job_cpu_share");
    constexpr size_t kJobMemory = node_plot("job_memory_bytes");
    constexpr size_t kReceived = node_plot("network_received_bytes_per_second");
    constexpr size_t kLoopback = node_plot("loopback_bytes_per_second");
    const size_t cpu = data[kJobCpu].empty() ? node_plot("node_cpu_share") : kJobCpu;
    if (!data[cpu].empty())
        model.figures.push_back(
            {.label = cpu == kJobCpu ? "CPU use" : "CPU use of the nodes",
             .value = format_quantity(mean_of(data[cpu].means), "share"),
             .detail = fmt::format("of {}, peak {}", cpu == kJobCpu ? "its CPUs" : "all CPUs",
                                   format_quantity(highest_of(data[cpu].peaks), "share")),
             .spark = course(data, cpu)});
    const size_t memory = data[kJobMemory].empty() ? node_plot("node_memory_bytes") : kJobMemory;
    if (!data[memory].empty()) {
        std::string detail = "on one node";
        if (!model.nodes.empty() && model.nodes[0].memory_bytes)
            detail = fmt::format("of a node's {}",
                                 format_quantity(static_cast<double>(*model.nodes[0].memory_bytes), "B"));
        model.figures.push_back({.label = "Memory peak",
                                 .value = format_quantity(highest_of(data[memory].peaks), "B"),
                                 .detail = detail,
                                 .spark = course(data, memory)});
    }
    // Where the ranks share a host, their traffic is on the loopback interface.
    bool loopback = highest_of(data[kLoopback].means) > highest_of(data[kReceived].means);
    const size_t network = loopback ? kLoopback : kReceived;
    if (!data[network].empty())
        model.figures.push_back(
            {.label = loopback ? "Network, within nodes" : "Network, received",
             .value = format_quantity(mean_of(data[network].means), "B/s"),
             .detail =
                 fmt::format("per node, peak {}", format_quantity(highest_of(data[network].peaks), "B/s")),
             .spark = course(data, network)});
}

}  // namespace

double mean_of(std::span<const double> values) {
    double sum = 0;
    size_t count = 0;
    for (double value : values) {
        if (is_missing(value)) continue;
        sum += value;
        ++count;
    }
    return count == 0 ? kMissing : sum / static_cast<double>(count);
}

std::string metric_label(const ProgressFacts& facts) {
    // The keys of MLPerf HPC say only whether it is an error or an accuracy (benchmarks of its training
    // rules).
    struct Name {
        std::string_view benchmark, key, label;
    };
    static constexpr Name kNames[] = {{"cosmoflow", "eval_error", "MAE"},
                                      {"deepcam", "eval_accuracy", "IoU"},
                                      {"oc20", "eval_error", "Force MAE"},
                                      {"openfold", "eval_accuracy", "lDDT-Cα"}};
    for (const Name& name : kNames)
        if (name.benchmark == facts.benchmark && name.key == facts.metric_key) return std::string(name.label);
    return facts.metric_key.empty() ? std::string("Metric") : readable(facts.metric_key);
}

Throughput steady_throughput(const Measurements& data) {
    std::vector<double> steady;
    for (const ProgressPoint& point : data.progress)
        if (!point.step || *point.step > kStartupSteps) steady.push_back(point.throughput);
    if (is_missing(mean_of(steady))) steady = printed(data, &ProgressPoint::throughput);
    return {mean_of(steady), highest_of(steady)};
}

std::optional<Training> describe_training(const Measurements& data) {
    if (data.progress.empty()) return std::nullopt;
    const ProgressFacts& facts = data.progress_facts;
    Training training{.benchmark = facts.benchmark,
                      .steps = {},
                      .metric_label = metric_label(facts),
                      .target = facts.target,
                      .target_reached = {},
                      .throughput_unit = facts.throughput_unit};
    for (const ProgressPoint& point : data.progress) {
        if (!is_missing(point.loss)) training.final_loss = point.loss;
        if (point.step) training.steps = std::max(training.steps.value_or(0), *point.step);
        if (!is_missing(point.epoch) && !(training.epochs > point.epoch)) training.epochs = point.epoch;
    }
    judge_against_target(training, data);
    const Throughput throughput = steady_throughput(data);
    training.throughput_mean = throughput.mean;
    training.throughput_peak = throughput.peak;
    return training;
}

void describe(ReportModel& model, const Measurements& data) {
    if (model.training) add_training_figures(model, data);
    if (model.figures.empty())
        model.figures.push_back({.label = "Duration",
                                 .value = format_duration(model.seconds),
                                 .detail = format_count(model.nodes.size(), "node"),
                                 .spark = {}});
    add_resource_figures(model, data);
    std::string gaps = model.coverage.gaps_total == 0 ? std::string("no gaps")
                                                      : format_count(model.coverage.gaps_total, "gap");
    if (!model.coverage.lost.empty()) gaps += ", something lost";
    model.figures.push_back({.label = "Coverage",
                             .value = format_coverage(model.coverage.total),
                             .detail = gaps,
                             .tone = coverage_tone(model.coverage),
                             .spark = {}});

    const auto say = [&](std::string sentence) {
        if (!sentence.empty()) model.summary.push_back(std::move(sentence));
    };
    say(run_sentence(model));
    say(preparation_sentence(model));
    say(first_fact_sentence(model, "Staged data", "Data were copied to the nodes first, from"));
    if (model.training) say(training_sentence(*model.training));
    say(resources_sentence(data));
    say(first_fact_sentence(model, "Input and output", "Its programs did on"));
    say(coverage_sentence(model));
}

}  // namespace belay::report
