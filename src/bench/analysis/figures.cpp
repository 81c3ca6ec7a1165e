#include "bench/analysis/figures.h"

#include "bench/analysis/figure_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr double kMinute = 60;

Figure time_figure(const Scene& scene, std::span<const FamilyModel> models,
                   std::span<const Prediction> predictions) {
    Figure figure{
        .number = 1,
        .id = "time_against_units",
        .title = "Time to train against compute units",
        .note = "Each run that counts, and the mean; along a dotted line the compute budget is the same",
        .missing = {},
        .panels = {},
        .bars = {},
        .bar_unit = {}};
    FigurePanel panel{.id = "time",
                      .title = figure.title,
                      .note = {},
                      .x = {.label = "compute units", .unit = ""},
                      .y = {.label = "time to train", .unit = "min"},
                      .points = {},
                      .lines = {}};
    add_points(
        panel, scene, [](const SystemResult& s) { return s.units; },
        [](const SystemResult& s) { return s.seconds.mean; }, nullptr, &Run::seconds, 1, 1 / kMinute);
    for (const Prediction& prediction : predictions) {
        if (prediction.benchmark != scene.benchmark) continue;
        panel.points.push_back(
            {.kind = "predicted",
             .system = -1,
             .label = fmt::format("{} {}: predicted for {:g} units, batch {:g}", prediction.benchmark,
                                  prediction.family, prediction.units, prediction.batch),
             .x = prediction.units,
             .y = prediction.seconds / kMinute,
             .low = prediction.worst_error
                        ? std::optional(prediction.seconds * std::max(0.01, 1 - *prediction.worst_error) /
                                        kMinute)
                        : std::nullopt,
             .high = prediction.worst_error
                         ? std::optional(prediction.seconds * (1 + *prediction.worst_error) / kMinute)
                         : std::nullopt});
    }
    // The model along the units, at the batch of the largest scale, as placements are predicted: where a line bends, more
    // units stop helping.
    for (const FamilyModel& model : models) {
        if (model.benchmark != scene.benchmark || model.points.size() < 2) continue;
        FigureLine line{.kind = "fit",
                        .label = fmt::format("{} {}: model at batch {:g}", model.benchmark, model.family,
                                             model.points.back().batch),
                        .points = {}};
        constexpr int kSteps = 32;
        for (int i = 0; i <= kSteps; ++i) {
            const double units = model.least_units * std::pow(model.most_units / model.least_units,
                                                              static_cast<double>(i) / kSteps);
            if (const auto predicted = predict(model, units, model.points.back().batch))
                line.points.push_back({units, predicted->seconds / kMinute});
        }
        panel.lines.push_back(std::move(line));
    }
    fit_axes(panel);
    add_iso_lines(panel, IsoKind::kProduct, kMinute, "unit·h");
    if (panel.points.empty())
        figure.missing = "no system has a number of units and a run that ended with success";
    else
        figure.panels.push_back(std::move(panel));
    return figure;
}

Figure share_figure(const Scene& scene) {
    Figure figure{.number = 2,
                  .id = "shares",
                  .title = "Where the time goes",
                  .note = "Shares of the mean time to train",
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = "share"};
    for (size_t i = 0; i < scene.systems.size(); ++i) {
        const SystemResult& system = scene.systems[i];
        if (!scene.has(system)) continue;
        if (!above_zero(system.seconds.mean) || !system.training.mean) continue;
        BarRow row{.label = system.label(), .note = {}, .system = static_cast<int>(i), .parts = {}};
        double from = 0;
        auto add = [&](std::string name, std::optional<double> seconds) {
            if (!seconds) return;
            const double share = *seconds / *system.seconds.mean;
            row.parts.push_back({std::move(name), from, from + share});
            from += share;
        };
        add("staging", system.staging.mean);
        add("evaluation", system.evaluation.mean);
        add("training", system.training.mean);
        add("other", system.other.mean);
        if (!system.staging.mean) row.note = "staging is not known";
        figure.bars.push_back(std::move(row));
    }
    if (figure.bars.empty()) figure.missing = "no system has epochs and a run that ended with success";
    return figure;
}

Figure scaling_figure(const Scene& scene) {
    Figure figure{.number = 3,
                  .id = "scaling",
                  .title = "Batch size, epochs, units and throughput",
                  .note = "Neighbours share an axis. Dotted: what is written on it is the same",
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = {}};
    auto units = [](const SystemResult& s) { return s.units; };
    auto batch = [](const SystemResult& s) { return s.batch; };
    auto epochs = [](const SystemResult& s) { return s.epochs.mean; };
    auto throughput = [](const SystemResult& s) { return s.epoch_throughput.mean; };
    const Axis unit_axis{.label = "compute units", .unit = ""};
    const Axis batch_axis{.label = "global batch size", .unit = ""};
    const Axis epoch_axis{.label = "epochs to the target", .unit = ""};
    const Axis rate_axis{.label = "epoch throughput", .unit = "epochs/min"};
    FigurePanel batches{.id = "batch_units",
                        .title = "Batch size for units",
                        .note = "dotted: batch of a unit; low needs much communication",
                        .x = unit_axis,
                        .y = batch_axis,
                        .points = {},
                        .lines = {}};
    add_points(batches, scene, units, batch, nullptr, nullptr);
    FigurePanel convergence{.id = "batch_epochs",
                            .title = "Batch size and epochs",
                            .note = "dotted: steps to the target, of each training sample",
                            .x = epoch_axis,
                            .y = batch_axis,
                            .points = {},
                            .lines = {}};
    add_points(convergence, scene, epochs, batch, &Run::epochs, nullptr);
    FigurePanel rates{.id = "units_throughput",
                      .title = "Throughput of units",
                      .note = "dotted: epochs per unit and hour",
                      .x = unit_axis,
                      .y = rate_axis,
                      .points = {},
                      .lines = {}};
    add_points(rates, scene, units, throughput, nullptr, &Run::epoch_throughput, 1, kMinute);
    FigurePanel times{.id = "epochs_throughput",
                      .title = "Efficiency: epochs and throughput",
                      .note = "dotted: compute time to the target, without staging",
                      .x = epoch_axis,
                      .y = rate_axis,
                      .points = {},
                      .lines = {}};
    add_points(times, scene, epochs, throughput, &Run::epochs, &Run::epoch_throughput, 1, kMinute);
    for (FigurePanel* panel : {&batches, &convergence, &rates, &times}) fit_axes(*panel);
    // Neighbours show the same range of the axis that they share.
    auto share = [](Axis& a, Axis& b) {
        a.least = b.least = std::min(a.least, b.least);
        a.most = b.most = std::max(a.most, b.most);
    };
    share(batches.x, rates.x);
    share(convergence.x, times.x);
    share(batches.y, convergence.y);
    share(rates.y, times.y);
    add_iso_lines(batches, IsoKind::kRatio, 1, "samples/unit");
    // Steps = E n_t / B: constant B/E; of different data sets the lines would differ, so they are for the largest.
    double samples = 0;
    for (const SystemResult& system : scene.systems)
        if (scene.has(system)) samples = std::max(samples, system.train_samples.value_or(0));
    if (samples > 0 && !convergence.points.empty())
        for (const IsoLevel& level : iso_levels(IsoKind::kRatio, convergence.x, convergence.y, 1))
            convergence.lines.push_back(
                {.kind = "iso",
                 .label = fmt::format("{} steps", iso_level_text(std::round(samples / level.level))),
                 .points = {level.ends[0], level.ends[1]}});
    add_iso_lines(rates, IsoKind::kRatio, 1 / kMinute, "epochs/unit·h");
    // T = E / X: on a line of slope 1, at minutes of E over epochs per minute.
    if (!times.points.empty())
        for (const IsoLevel& level : iso_levels(IsoKind::kRatio, times.x, times.y, 1))
            times.lines.push_back({.kind = "iso",
                                   .label = fmt::format("{} min", iso_level_text(1 / level.level)),
                                   .points = {level.ends[0], level.ends[1]}});
    FigurePanel efficiency{.id = "efficiency",
                           .title = "Efficiency against units",
                           .note = "throughput of a unit over that at the smallest scale of the same machine",
                           .x = unit_axis,
                           .y = {.label = "efficiency", .unit = "share", .logarithmic = false},
                           .points = {},
                           .lines = {}};
    add_points(
        efficiency, scene, units, [](const SystemResult& s) { return s.efficiency; }, nullptr, nullptr);
    fit_axes(efficiency);
    for (FigurePanel* panel : {&batches, &convergence, &rates, &times, &efficiency})
        if (!panel->points.empty()) figure.panels.push_back(std::move(*panel));
    if (figure.panels.empty())
        figure.missing = "no system has units, a batch size and a run that ended with success";
    return figure;
}

Figure variability_figure(const Scene& scene) {
    Figure figure{.number = 4,
                  .id = "variability",
                  .title = "What makes runs differ",
                  .note =
                      "Epochs against the time of an epoch: each ellipse has the principal components of the "
                      "logarithms, of one deviation, as half-axes",
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = {}};
    FigurePanel panel{.id = "log_pca",
                      .title = "Epochs and time of an epoch, relative to the mean",
                      .note = "both 1 where a run is like the mean of its system",
                      .x = {.label = "epochs, relative", .unit = ""},
                      .y = {.label = "epoch time, relative", .unit = ""},
                      .points = {},
                      .lines = {}};
    for (size_t i = 0; i < scene.systems.size(); ++i) {
        const SystemResult& system = scene.systems[i];
        if (!scene.has(system)) continue;
        if (!system.variability || !system.variability->first_share) continue;
        const double mean_x = std::pow(10.0, system.variability->mean[0]);
        const double mean_y = std::pow(10.0, system.variability->mean[1]);
        for (size_t index : system.counted) {
            const Run& run = system.runs[index];
            if (above_zero(run.epochs) && above_zero(run.epoch_seconds))
                panel.points.push_back({.kind = "run",
                                        .system = static_cast<int>(i),
                                        .label = run.file,
                                        .x = *run.epochs / mean_x,
                                        .y = *run.epoch_seconds / mean_y,
                                        .low = {},
                                        .high = {}});
        }
        FigureLine line{.kind = "ellipse",
                        .system = static_cast<int>(i),
                        .label = fmt::format("{}: {:.1f} % in the first component", system.label(),
                                             100 * *system.variability->first_share),
                        .points = {}};
        constexpr size_t kPoints = 48;
        for (const auto& point : ellipse_of(*system.variability, kPoints))
            line.points.push_back({point[0] / mean_x, point[1] / mean_y});
        panel.lines.push_back(std::move(line));
    }
    fit_axes(panel);
    if (panel.lines.empty())
        figure.missing = "no system has two runs that differ";
    else
        figure.panels.push_back(std::move(panel));
    return figure;
}

Figure staging_figure(const Scene& scene) {
    Figure figure{.number = 5,
                  .id = "staging_per_epoch",
                  .title = "Staging in epochs",
                  .note = "Time to bring the data to the nodes over the time of an epoch",
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = "epochs"};
    for (size_t i = 0; i < scene.systems.size(); ++i) {
        const SystemResult& system = scene.systems[i];
        if (scene.has(system) && system.staging_per_epoch)
            figure.bars.push_back({.label = system.label(),
                                   .note = {},
                                   .system = static_cast<int>(i),
                                   .parts = {{"staging", 0, *system.staging_per_epoch}}});
    }
    if (figure.bars.empty())
        figure.missing = "no run logged staging_start and staging_stop around data that move";
    return figure;
}

Figure roofline_figure(std::string_view benchmark, std::span<const RooflineRun> rooflines) {
    Figure figure{.number = 6,
                  .id = "roofline",
                  .title = "What bounds it",
                  .note = "Samples/s of one rank at which each resource would be used up; the lowest binds",
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = "samples/s"};
    for (const RooflineRun& run : rooflines) {
        if (!benchmark.empty() && !run.benchmark.empty() && run.benchmark != benchmark) continue;
        BarRow row{
            .label = run.label.empty() ? run.benchmark : run.label,
            .note = run.binds.empty() ? "what binds is not known" : fmt::format("bound by {}", run.binds),
            .system = -1,
            .parts = {}};
        for (const auto& ceiling : run.ceilings)
            if (above_zero(ceiling.samples_per_second))
                row.parts.push_back({ceiling.resource, 0, *ceiling.samples_per_second});
        if (above_zero(run.attained)) row.parts.push_back({"attained", 0, *run.attained});
        if (!row.parts.empty()) figure.bars.push_back(std::move(row));
    }
    if (figure.bars.empty())
        figure.missing =
            "no roofline was given: --roofline FILE takes what belay bench roofline --json printed";
    return figure;
}

Figure gantt_figure(const Scene& scene) {
    Figure figure{.number = 7,
                  .id = "instances",
                  .title = "Instances over time",
                  .note = {},
                  .missing = {},
                  .panels = {},
                  .bars = {},
                  .bar_unit = "s"};
    for (size_t i = 0; i < scene.systems.size(); ++i) {
        const SystemResult& system = scene.systems[i];
        if (!scene.has(system)) continue;
        if (system.scaling != "weak" && !overlap(system.runs)) continue;
        double first = std::numeric_limits<double>::infinity();
        double last = -first;
        std::vector<const Run*> shown;
        for (const Run& run : system.runs)
            if (run.start && run.stop && *run.stop > *run.start) {
                shown.push_back(&run);
                first = std::min(first, *run.start);
                last = std::max(last, *run.stop);
            }
        if (shown.size() < 2) continue;
        std::ranges::stable_sort(shown, {}, [](const Run* run) { return *run->start; });
        const std::string all = fmt::format("{} instances, {:.2f} min from the first start to the last stop",
                                            shown.size(), (last - first) / kMinute);
        for (const Run* run : shown)
            figure.bars.push_back(
                {.label = fmt::format("{} · {}", system.label(), run->file),
                 .note = run == shown.front() ? all : std::string(),
                 .system = static_cast<int>(i),
                 .parts = {{run->success ? "instance" : "failed", *run->start - first, *run->stop - first}}});
    }
    if (figure.bars.empty())
        figure.missing = "no runs of one system overlap in time, as those of weak scaling do";
    return figure;
}

}  // namespace

std::vector<Figure> make_figures(std::span<const SystemResult> systems, std::span<const FamilyModel> models,
                                 std::span<const Prediction> predictions,
                                 std::span<const RooflineRun> rooflines) {
    std::set<std::string> benchmarks;
    for (const SystemResult& system : systems) benchmarks.insert(system.benchmark);
    if (benchmarks.empty()) benchmarks.insert("");
    std::vector<Figure> figures;
    for (const std::string& benchmark : benchmarks) {
        const Scene scene{benchmark, systems};
        const size_t first = figures.size();
        figures.push_back(time_figure(scene, models, predictions));
        figures.push_back(share_figure(scene));
        figures.push_back(scaling_figure(scene));
        figures.push_back(variability_figure(scene));
        figures.push_back(staging_figure(scene));
        figures.push_back(roofline_figure(benchmark, rooflines));
        figures.push_back(gantt_figure(scene));
        for (size_t i = first; i < figures.size(); ++i) figures[i].benchmark = benchmark;
    }
    return figures;
}

}  // namespace belay::bench
