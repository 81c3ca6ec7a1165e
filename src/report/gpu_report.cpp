#include "report/gpu_report.h"

#include "report/format.h"
#include "report/not_drawn.h"
#include "score/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace belay::report {

using score::Digest;
using score::GpuDigest;

namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerWattHour = 3600;

double mean_of(const GpuDigest& gpu, size_t quantity) {
    return gpu.whole[quantity];
}

std::string model_name(const GpuDigest& gpu) {
    std::string name = gpu.name.empty() ? std::string("unknown model") : gpu.name;
    return gpu.mig_profile.empty() ? name : fmt::format("{} MIG {}", name, gpu.mig_profile);
}

struct Word {
    double least;
    std::string_view word;
    Tone tone;
};
// Words for orientation; a score screens jobs and ranks nothing. Explained in docs/report.md.
constexpr std::array<Word, 4> kWords = {{{60, "high", Tone::kGood},
                                         {30, "moderate", Tone::kNeutral},
                                         {10, "low", Tone::kWarning},
                                         {0, "very low", Tone::kBad}}};

Word word_of(double score) {
    for (const Word& word : kWords)
        if (score >= word.least) return word;
    return kWords.back();
}

KeyFigure score_figure(const GpuReport& gpu, const Digest& digest) {
    const double score = gpu.score.score.point;
    KeyFigure figure{.label = "Saturation score",
                     .value = format_score(score),
                     .detail = score_range(gpu.score),
                     .spark = {}};
    if (is_graded(gpu.score)) {
        Word word = word_of(score);
        figure.tone = word.tone;
        figure.detail = fmt::format("{}, {}", word.word, figure.detail);
    }
    for (const score::JobWindow& window : digest.job) figure.spark.push_back(window.saturated);
    constexpr size_t kSparkPoints = 120;
    figure.spark = thinned(figure.spark, kSparkPoints);
    return figure;
}

std::string score_sentence(const GpuReport& gpu) {
    const score::JobScore& job = gpu.score;
    const double score = job.score.point;
    std::string gpus = format_count(gpu.gpus.size(), "GPU");
    if (is_missing(score) && !job.sampled) return fmt::format("No samples of its {} were recorded.", gpus);
    if (is_missing(score))
        return fmt::format(
            "It is not known how near its {} came to a limit of the hardware: no counters of pipes or "
            "device memory were sampled.",
            gpus);
    std::string text = fmt::format("On average over the job, its {} reached {} of a limit of the hardware",
                                   gpus, format_quantity(score / 100, "share"));
    if (!is_missing(job.steady_state) && job.startup_seconds >= 1)
        text += fmt::format(", or {} without the {} of start-up",
                            format_quantity(job.steady_state / 100, "share"),
                            format_duration(*job.startup_seconds));
    return text + ".";
}

// The areas of the chart have the means that the score is made of.
void tell_shares(std::vector<Chart>& charts, const score::Shares& shares) {
    const std::pair<std::string_view, double> means[] = {{"saturated", shares.saturated},
                                                         {"unsaturated", shares.unsaturated},
                                                         {"gap", shares.gap},
                                                         {"idle", shares.idle}};
    for (Chart& chart : charts)
        for (Curve& curve : chart.series)
            for (const auto& [name, mean] : means)
                if (chart.id == "gpu_shares" && curve.label == name) curve.mean = mean;
}

void use_time_of(ReportModel& model, const Digest& digest) {
    if (digest.start < model.start) begin_at(model, digest.start);
    double end = core::to_seconds(digest.end - model.start);
    model.seconds = std::max(model.seconds, end);
}

}  // namespace

std::string gpu_label(const GpuDigest& gpu) {
    return fmt::format("{}:{}", gpu.node, gpu.index);
}

std::vector<double> thinned(const std::vector<double>& values, size_t most) {
    if (values.size() <= most) return values;
    std::vector<double> result;
    for (size_t part = 0; part < most; ++part) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = part * values.size() / most; i < (part + 1) * values.size() / most; ++i) {
            if (is_missing(values[i])) continue;
            sum += values[i];
            ++count;
        }
        result.push_back(count > 0 ? sum / static_cast<double>(count) : kMissing);
    }
    return result;
}

double window_seconds(double interval_seconds) {
    const double least = core::to_seconds(score::kWindow);
    return interval_seconds > least ? interval_seconds : least;
}

std::string_view why_no_score(const score::JobScore& job) {
    return job.sampled ? "no counters of pipes or memory" : "nothing was observed";
}

std::string_view score_word(double score) {
    return word_of(score).word;
}

std::string format_score(double score) {
    return is_missing(score) ? std::string("–") : fmt::format("{:.1f}", score);
}

std::string score_range(const score::JobScore& job) {
    constexpr double kNoRange = 0.05;  // of what is printed
    const score::Score& score = job.score;
    if (is_missing(score.point)) return std::string(why_no_score(job));
    if (score.high - score.low < kNoRange) return fmt::format("{} observed", format_coverage(score.coverage));
    return fmt::format("{} to {}, {} observed", format_score(score.low), format_score(score.high),
                       format_coverage(score.coverage));
}

bool is_graded(const score::JobScore& job) {
    return job.score.graded() && !is_missing(job.score.point);
}

std::string_view bound_text(const score::JobScore& job) {
    return is_missing(job.score.point) || !job.bound ? std::string_view() : to_text(*job.bound);
}

double gpu_hours(const score::JobScore& job) {
    return job.allocated_seconds / kSecondsPerHour;
}

std::vector<GpuFacts> gpu_facts(const Digest& digest, const score::JobScore& job) {
    std::vector<GpuFacts> result;
    result.reserve(digest.gpus.size());
    for (size_t i = 0; i < digest.gpus.size(); ++i) {
        const GpuDigest& gpu = digest.gpus[i];
        result.push_back({.label = gpu_label(gpu),
                          .model = model_name(gpu),
                          .weight = gpu.weight,
                          .part = job.gpus.at(i),
                          .compute = compute_use(digest, gpu),
                          .memory = mean_of(gpu, score::used(score::Limit::kDram)),
                          .power_watts = mean_of(gpu, schema::gpu_quantity("power_watts")),
                          .temperature = mean_of(gpu, schema::gpu_quantity("temperature_celsius")),
                          .energy_wh = gpu.energy_joules / kJoulesPerWattHour,
                          .memory_peak_bytes = gpu.memory_peak_bytes()});
    }
    return result;
}

std::vector<CeilingFacts> ceiling_facts(const Digest& digest) {
    std::map<std::string, CeilingFacts> by_name;
    for (const GpuDigest& gpu : digest.gpus) {
        const score::DeviceCeilings& known = gpu.ceilings;
        CeilingFacts& facts = by_name[model_name(gpu)];
        ++facts.gpus;
        if (facts.gpus > 1) continue;
        facts.name = model_name(gpu);
        facts.calibrated = known.calibrated;
        facts.version = known.date;
        if (!known.driver.empty()) facts.version += fmt::format(", driver {}", known.driver);
        facts.source =
            known.match.empty() ? std::string("nothing is known of this model: limits of 1") : known.source;
        if (known.ceilings.clock_hertz > 0) facts.clock_hertz = known.ceilings.clock_hertz;
        facts.active.assign(known.ceilings.active.begin(), known.ceilings.active.end());
    }
    std::vector<CeilingFacts> result;
    for (auto& [name, facts] : by_name) result.push_back(std::move(facts));
    return result;
}

void begin_at(ReportModel& model, core::Time start) {
    double later = core::to_seconds(model.start - start);
    model.start = start;
    model.seconds += later;
    for (Chart& chart : model.charts)
        for (double& second : chart.seconds) second += later;
    model.grid.start += later;
    for (Event& event : model.events) event.seconds += later;
    for (Gap& gap : model.coverage.gaps) gap.start += later;
}

namespace {

std::vector<NotDrawn> gpus_not_drawn(const score::Digest& digest, const GpuReport& gpu,
                                     const std::vector<Chart>& charts) {
    std::vector<NotDrawn> all = gpus_without_data(digest);
    auto add = [&](std::vector<NotDrawn> more) { std::ranges::move(more, std::back_inserter(all)); };
    add(always_zero(charts));
    add(always_zero(gpu.grid, kGpusSection));
    if (std::ranges::find(charts, "gpu_shares", &Chart::id) == charts.end())
        add({{"gpu_shares", "score", "Where the time went", std::string(why_no_score(gpu.score))}});
    return all;
}

// A GPU that is lost leaves no rows that could be missed: of its time less is known than of all samples.
void tell_of_unobserved_time(ReportModel& model, double observed) {
    constexpr double kNoticed = 0.005;
    if (is_missing(model.coverage.total) || !(observed < model.coverage.total - kNoticed)) return;
    const std::string text = format_coverage(observed);
    for (KeyFigure& figure : model.figures)
        if (figure.label == "Coverage") {
            figure.detail = fmt::format("of the samples; {} of the GPUs' time", text);
            figure.tone = Tone::kWarning;
        }
    model.summary.push_back(fmt::format("Of the time of its GPUs {} was observed.", text));
}

}  // namespace

void add_gpus(ReportModel& model, const Digest& digest) {
    if (digest.empty()) return;
    use_time_of(model, digest);
    double offset = core::to_seconds(digest.start - model.start);
    score::JobScore job = score::score_job(digest);
    GpuReport gpu{.score = job, .gpus = gpu_facts(digest, job), .interval_seconds = digest.interval_seconds};
    gpu.grid = gpu_grid(digest, offset);
    gpu.histograms = histograms(digest, job.startup_seconds.value_or(kMissing));
    gpu.mix = gpu_mix(digest, offset);
    gpu.ceilings = ceiling_facts(digest);
    std::vector<Chart> charts = gpu_charts(digest, offset);
    tell_shares(charts, job.score.shares);
    std::ranges::move(gpus_not_drawn(digest, gpu, charts), std::back_inserter(model.not_drawn));
    model.charts.insert(model.charts.begin(), std::make_move_iterator(charts.begin()),
                        std::make_move_iterator(charts.end()));
    model.figures.insert(model.figures.begin(), score_figure(gpu, digest));
    model.summary.insert(model.summary.begin() + std::min<std::ptrdiff_t>(1, std::ssize(model.summary)),
                         score_sentence(gpu));
    tell_of_unobserved_time(model, job.score.coverage);
    model.gpu = std::move(gpu);
}

}  // namespace belay::report
