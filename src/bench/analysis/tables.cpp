// What an analysis is as JSON and CSV.
#include "bench/analysis/analysis.h"
#include "core/csv.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json number(double value) {
    return number(std::optional(value));
}

// A field of a row: its name in JSON and CSV, and its value.
template <typename Row>
struct Column {
    std::string_view name;
    Json (*value)(const Row&);
};

constexpr Column<SystemResult> kSystemColumns[] = {
    {"system", [](const SystemResult& s) { return Json(s.name); }},
    {"family", [](const SystemResult& s) { return Json(s.family); }},
    {"submitter", [](const SystemResult& s) { return Json(s.submitter); }},
    {"benchmark", [](const SystemResult& s) { return Json(s.benchmark); }},
    {"division", [](const SystemResult& s) { return Json(s.division); }},
    {"scaling", [](const SystemResult& s) { return s.scaling.empty() ? Json() : Json(s.scaling); }},
    {"units", [](const SystemResult& s) { return number(s.units); }},
    {"nodes", [](const SystemResult& s) { return number(s.nodes); }},
    {"global_batch_size", [](const SystemResult& s) { return number(s.batch); }},
    {"runs", [](const SystemResult& s) { return Json(s.runs.size()); }},
    {"runs_counted", [](const SystemResult& s) { return Json(s.counted.size()); }},
    {"seconds", [](const SystemResult& s) { return number(s.seconds.mean); }},
    {"seconds_deviation", [](const SystemResult& s) { return number(s.seconds.deviation); }},
    {"staging_seconds", [](const SystemResult& s) { return number(s.staging.mean); }},
    {"staging_seconds_deviation", [](const SystemResult& s) { return number(s.staging.deviation); }},
    {"epochs_seconds", [](const SystemResult& s) { return number(s.epochs_seconds.mean); }},
    {"evaluation_seconds", [](const SystemResult& s) { return number(s.evaluation.mean); }},
    {"training_seconds", [](const SystemResult& s) { return number(s.training.mean); }},
    {"other_seconds", [](const SystemResult& s) { return number(s.other.mean); }},
    {"epochs", [](const SystemResult& s) { return number(s.epochs.mean); }},
    {"epochs_deviation", [](const SystemResult& s) { return number(s.epochs.deviation); }},
    {"epoch_seconds", [](const SystemResult& s) { return number(s.epoch_seconds.mean); }},
    {"epoch_seconds_deviation", [](const SystemResult& s) { return number(s.epoch_seconds.deviation); }},
    {"unit_hours", [](const SystemResult& s) { return number(s.unit_hours.mean); }},
    {"evaluation_share", [](const SystemResult& s) { return number(s.evaluation_share); }},
    {"staging_per_epoch", [](const SystemResult& s) { return number(s.staging_per_epoch); }},
    {"samples_per_epoch", [](const SystemResult& s) { return number(s.samples_per_epoch); }},
    {"epochs_per_second", [](const SystemResult& s) { return number(s.epoch_throughput.mean); }},
    {"samples_per_second", [](const SystemResult& s) { return number(s.sample_throughput.mean); }},
    {"samples_per_second_deviation",
     [](const SystemResult& s) { return number(s.sample_throughput.deviation); }},
    {"train_samples_per_second", [](const SystemResult& s) { return number(s.train_throughput.mean); }},
    {"evaluation_samples_per_second",
     [](const SystemResult& s) { return number(s.evaluation_throughput.mean); }},
    {"staging_samples_per_second", [](const SystemResult& s) { return number(s.staging_throughput.mean); }},
    {"model_error", [](const SystemResult& s) { return number(s.model_error); }},
    {"efficiency", [](const SystemResult& s) { return number(s.efficiency); }},
    {"data_wait_seconds_per_step", [](const SystemResult& s) { return number(s.data_wait); }},
    {"exposed_communication_seconds_per_step",
     [](const SystemResult& s) { return number(s.exposed_communication); }},
    {"time_to_train_all_seconds", [](const SystemResult& s) { return number(s.time_to_train_all); }},
    {"variance_share_first_component",
     [](const SystemResult& s) { return s.variability ? number(s.variability->first_share) : Json(); }},
    {"correlation",
     [](const SystemResult& s) { return s.variability ? number(s.variability->correlation) : Json(); }},
};

constexpr Column<Run> kRunColumns[] = {
    {"file", [](const Run& r) { return Json(r.file); }},
    {"success", [](const Run& r) { return Json(r.success); }},
    {"missing", [](const Run& r) { return r.missing.empty() ? Json() : Json(r.missing); }},
    {"start", [](const Run& r) { return number(r.start); }},
    {"seconds", [](const Run& r) { return number(r.seconds); }},
    {"staging_seconds", [](const Run& r) { return number(r.staging); }},
    {"epochs_seconds", [](const Run& r) { return number(r.epochs_seconds); }},
    {"evaluation_seconds", [](const Run& r) { return number(r.evaluation); }},
    {"training_seconds", [](const Run& r) { return number(r.training); }},
    {"other_seconds", [](const Run& r) { return number(r.other); }},
    {"epochs", [](const Run& r) { return number(r.epochs); }},
    {"evaluations", [](const Run& r) { return number(r.evaluations); }},
    {"epoch_seconds", [](const Run& r) { return number(r.epoch_seconds); }},
    {"samples_per_epoch", [](const Run& r) { return number(r.samples_per_epoch); }},
    {"samples_per_second", [](const Run& r) { return number(r.sample_throughput); }},
    {"train_samples_per_second", [](const Run& r) { return number(r.train_throughput); }},
    {"model_seconds", [](const Run& r) { return number(r.model_seconds); }},
    {"unit_hours", [](const Run& r) { return number(r.unit_hours); }},
    {"data_wait_seconds_per_step", [](const Run& r) { return number(r.data_wait); }},
    {"exposed_communication_seconds_per_step", [](const Run& r) { return number(r.exposed_communication); }},
};

constexpr Column<Prediction> kPredictionColumns[] = {
    {"benchmark", [](const Prediction& p) { return Json(p.benchmark); }},
    {"family", [](const Prediction& p) { return Json(p.family); }},
    {"units", [](const Prediction& p) { return number(p.units); }},
    {"global_batch_size", [](const Prediction& p) { return number(p.batch); }},
    {"seconds", [](const Prediction& p) { return number(p.seconds); }},
    {"staging_seconds", [](const Prediction& p) { return number(p.staging); }},
    {"other_seconds", [](const Prediction& p) { return number(p.other); }},
    {"epochs", [](const Prediction& p) { return number(p.epochs); }},
    {"epoch_seconds", [](const Prediction& p) { return number(p.epoch_seconds); }},
    {"step_seconds", [](const Prediction& p) { return number(p.step_seconds); }},
    {"unit_hours", [](const Prediction& p) { return number(p.unit_hours); }},
    {"mean_error_held_out", [](const Prediction& p) { return number(p.mean_error); }},
    {"worst_error_held_out", [](const Prediction& p) { return number(p.worst_error); }},
    {"notes", [](const Prediction& p) { return Json(p.notes); }},
};

Json optional_bool(std::optional<bool> value) {
    return value ? Json(*value) : Json();
}

constexpr Column<PlacementRow> kPlacementColumns[] = {
    {"scale", [](const PlacementRow& r) { return Json(r.label); }},
    {"measured", [](const PlacementRow& r) { return Json(r.measured); }},
    {"units", [](const PlacementRow& r) { return number(r.units); }},
    {"nodes", [](const PlacementRow& r) { return number(r.nodes); }},
    {"bytes_per_node", [](const PlacementRow& r) { return number(r.bytes_per_node); }},
    {"fits_memory", [](const PlacementRow& r) { return optional_bool(r.fits_memory); }},
    {"fits_flash", [](const PlacementRow& r) { return optional_bool(r.fits_flash); }},
    {"staging_seconds", [](const PlacementRow& r) { return number(r.staging); }},
    {"seconds", [](const PlacementRow& r) { return number(r.seconds); }},
    {"staging_share", [](const PlacementRow& r) { return number(r.staging_share); }},
    {"staging_bytes_per_second_and_node",
     [](const PlacementRow& r) { return number(r.bytes_per_second_and_node); }},
};

template <typename Row, size_t size>
Json object_of(const Row& row, const Column<Row> (&columns)[size]) {
    Json object = Json::object();
    for (const Column<Row>& column : columns) object[column.name] = column.value(row);
    return object;
}

void add_line(std::string& csv, const std::vector<Json>& cells) {
    csv += core::csv_line(cells);
}

template <typename Row, size_t size>
std::vector<Json> heading(const Column<Row> (&columns)[size], std::vector<Json> cells = {}) {
    for (const Column<Row>& column : columns) cells.emplace_back(std::string(column.name));
    return cells;
}

template <typename Row, size_t size>
std::vector<Json> cells_of(const Row& row, const Column<Row> (&columns)[size], std::vector<Json> cells = {}) {
    for (const Column<Row>& column : columns) cells.push_back(column.value(row));
    return cells;
}

Json json_of(const LogComponents& components) {
    return {{"mean", components.mean},
            {"covariance", components.covariance},
            {"variance", components.variance},
            {"direction", components.direction},
            {"first_share", number(components.first_share)},
            {"correlation", number(components.correlation)},
            {"half_axis_factors", components.half_axis_factors}};
}

Json json_of(const EpochRecord& epoch) {
    return {{"number", number(epoch.number)},
            {"start", number(epoch.start)},
            {"seconds", number(epoch.seconds)},
            {"evaluation_seconds", number(epoch.evaluation_seconds)},
            {"metric", number(epoch.metric)}};
}

Json json_of(const SystemResult& system, bool epochs) {
    Json object = object_of(system, kSystemColumns);
    object["label"] = system.label();
    object["components"] = system.variability ? json_of(*system.variability) : Json();
    object["notes"] = system.notes;
    if (!system.variability_missing.empty())
        object["notes"].push_back(fmt::format("variability: {}", system.variability_missing));
    object["counted"] = system.counted;
    Json runs = Json::array();
    for (const Run& run : system.runs) {
        Json one = object_of(run, kRunColumns);
        if (epochs) {
            one["records"] = Json::array();
            for (const EpochRecord& epoch : run.records) one["records"].push_back(json_of(epoch));
        }
        runs.push_back(std::move(one));
    }
    object["run_list"] = std::move(runs);
    return object;
}

Json json_of(const FamilyModel& model) {
    Json held_out = Json::array();
    for (const HeldOut& one : model.held_out)
        held_out.push_back({{"label", one.label},
                            {"units", number(one.units)},
                            {"global_batch_size", number(one.batch)},
                            {"measured_seconds", number(one.measured)},
                            {"predicted_seconds", number(one.predicted)},
                            {"error", number(one.error())}});
    return {{"benchmark", model.benchmark},
            {"family", model.family},
            {"epochs", model.epochs.formula()},
            {"step_seconds", model.steps.formula()},
            {"staging_seconds", model.staging ? Json(model.staging->formula()) : Json()},
            {"other_seconds", number(model.other)},
            {"train_samples", number(model.train_samples)},
            {"units", {number(model.least_units), number(model.most_units)}},
            {"global_batch_sizes", {number(model.least_batch), number(model.most_batch)}},
            {"held_out", std::move(held_out)},
            {"mean_error", number(model.mean_error)},
            {"worst_error", number(model.worst_error)},
            {"notes", model.notes}};
}

Json json_of(const Axis& axis) {
    return {{"label", axis.label},
            {"unit", axis.unit},
            {"logarithmic", axis.logarithmic},
            {"least", number(axis.least)},
            {"most", number(axis.most)}};
}

Json json_of(const FigurePanel& panel) {
    Json points = Json::array();
    for (const FigurePoint& point : panel.points)
        points.push_back({{"kind", point.kind},
                          {"system", point.system},
                          {"label", point.label},
                          {"x", number(point.x)},
                          {"y", number(point.y)},
                          {"low", number(point.low)},
                          {"high", number(point.high)}});
    Json lines = Json::array();
    for (const FigureLine& line : panel.lines)
        lines.push_back(
            {{"kind", line.kind}, {"system", line.system}, {"label", line.label}, {"points", line.points}});
    return {{"id", panel.id},           {"title", panel.title},  {"note", panel.note},
            {"x", json_of(panel.x)},    {"y", json_of(panel.y)}, {"points", std::move(points)},
            {"lines", std::move(lines)}};
}

Json json_of(const Figure& figure) {
    Json panels = Json::array();
    for (const FigurePanel& panel : figure.panels) panels.push_back(json_of(panel));
    Json bars = Json::array();
    for (const BarRow& row : figure.bars) {
        Json parts = Json::array();
        for (const BarPart& part : row.parts)
            parts.push_back({{"name", part.name}, {"from", number(part.from)}, {"to", number(part.to)}});
        bars.push_back(
            {{"label", row.label}, {"note", row.note}, {"system", row.system}, {"parts", std::move(parts)}});
    }
    return {{"number", figure.number},
            {"benchmark", figure.benchmark},
            {"id", figure.id},
            {"title", figure.title},
            {"note", figure.note},
            {"missing", figure.missing.empty() ? Json() : Json(figure.missing)},
            {"panels", std::move(panels)},
            {"bars", std::move(bars)},
            {"bar_unit", figure.bar_unit}};
}

}  // namespace

Json to_json(const Analysis& analysis, bool epochs) {
    Json json = {{"systems", Json::array()},    {"models", Json::array()},  {"predictions", Json::array()},
                 {"placements", Json::array()}, {"figures", Json::array()}, {"notes", analysis.notes}};
    for (const SystemResult& system : analysis.systems) json["systems"].push_back(json_of(system, epochs));
    for (const FamilyModel& model : analysis.models) json["models"].push_back(json_of(model));
    for (const Prediction& prediction : analysis.predictions)
        json["predictions"].push_back(object_of(prediction, kPredictionColumns));
    for (const Placement& placement : analysis.placements) {
        Json rows = Json::array();
        for (const PlacementRow& row : placement.rows) rows.push_back(object_of(row, kPlacementColumns));
        json["placements"].push_back(
            {{"benchmark", placement.benchmark},
             {"family", placement.family},
             {"data_bytes", placement.data_bytes > 0 ? number(placement.data_bytes) : Json()},
             {"nodes_for_memory", number(placement.nodes_for_memory)},
             {"nodes_for_flash", number(placement.nodes_for_flash)},
             {"missing", placement.missing.empty() ? Json() : Json(placement.missing)},
             {"rows", std::move(rows)}});
    }
    for (const Figure& figure : analysis.figures) json["figures"].push_back(json_of(figure));
    return json;
}

std::string figure_csv(const Figure& figure) {
    std::string csv;
    if (figure.panels.empty()) {
        add_line(csv, {"label", "part", "from", "to", "unit", "note"});
        for (const BarRow& row : figure.bars)
            for (const BarPart& part : row.parts)
                add_line(csv, {row.label, part.name, number(part.from), number(part.to), figure.bar_unit,
                               row.note});
        return csv;
    }
    add_line(csv, {"panel", "kind", "label", "x", "y", "low", "high", "x_meaning", "y_meaning"});
    auto meaning = [](const Axis& axis) {
        return axis.unit.empty() ? axis.label : fmt::format("{} [{}]", axis.label, axis.unit);
    };
    for (const FigurePanel& panel : figure.panels) {
        for (const FigurePoint& point : panel.points)
            add_line(csv, {panel.id, point.kind, point.label, number(point.x), number(point.y),
                           number(point.low), number(point.high), meaning(panel.x), meaning(panel.y)});
        for (const FigureLine& line : panel.lines)
            for (const auto& point : line.points)
                add_line(csv, {panel.id, line.kind, line.label, number(point[0]), number(point[1]), Json(),
                               Json(), meaning(panel.x), meaning(panel.y)});
    }
    return csv;
}

std::string systems_csv(const Analysis& analysis) {
    std::string csv;
    add_line(csv, heading(kSystemColumns));
    for (const SystemResult& system : analysis.systems) add_line(csv, cells_of(system, kSystemColumns));
    return csv;
}

std::string runs_csv(const Analysis& analysis) {
    std::string csv;
    add_line(csv, heading(kRunColumns, {"benchmark", "system", "units", "global_batch_size", "counts"}));
    for (const SystemResult& system : analysis.systems)
        for (size_t i = 0; i < system.runs.size(); ++i) {
            const bool counts = std::ranges::find(system.counted, i) != system.counted.end();
            add_line(csv, cells_of(system.runs[i], kRunColumns,
                                   {system.benchmark, system.name, number(system.units), number(system.batch),
                                    counts}));
        }
    return csv;
}

std::string predictions_csv(const Analysis& analysis) {
    std::string csv;
    add_line(csv, heading(kPredictionColumns));
    for (const Prediction& prediction : analysis.predictions)
        add_line(csv, cells_of(prediction, kPredictionColumns));
    return csv;
}

std::string placements_csv(const Analysis& analysis) {
    std::string csv;
    add_line(csv, heading(kPlacementColumns, {"benchmark", "family", "data_bytes"}));
    for (const Placement& placement : analysis.placements)
        for (const PlacementRow& row : placement.rows)
            add_line(csv, cells_of(row, kPlacementColumns,
                                   {placement.benchmark, placement.family, number(placement.data_bytes)}));
    return csv;
}

std::vector<std::pair<std::string, std::string>> all_csv(const Analysis& analysis) {
    std::vector<std::pair<std::string, std::string>> files;
    files.emplace_back("systems.csv", systems_csv(analysis));
    files.emplace_back("runs.csv", runs_csv(analysis));
    files.emplace_back("predictions.csv", predictions_csv(analysis));
    files.emplace_back("placements.csv", placements_csv(analysis));
    for (const Figure& figure : analysis.figures)
        files.emplace_back(figure_file_name(figure) + ".csv", figure_csv(figure));
    return files;
}

}  // namespace belay::bench
