#include "bench/analysis/analysis.h"

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Json = nlohmann::ordered_json;

void note_what_is_missing(Analysis& analysis) {
    auto none_has = [&](auto member) {
        for (const SystemResult& system : analysis.systems)
            if (member(system)) return false;
        return true;
    };
    if (analysis.systems.empty()) {
        analysis.notes.emplace_back("no run was given");
        return;
    }
    if (none_has([](const SystemResult& s) { return !s.counted.empty(); }))
        analysis.notes.emplace_back(
            "no run ended with success and has all that the analysis needs: see the notes of the systems");
    if (none_has([](const SystemResult& s) { return s.data_wait.has_value(); }))
        analysis.notes.emplace_back("no log says how long a step waits for data");
    if (none_has([](const SystemResult& s) { return s.exposed_communication.has_value(); }))
        analysis.notes.emplace_back("no log says how long a step waits for communication");
    if (none_has([](const SystemResult& s) { return s.units.has_value(); }))
        analysis.notes.emplace_back("no log and no system's description says how many units were used");
}

}  // namespace

Analysis analyze_runs(std::span<const RunInput> inputs, const AnalysisOptions& options) {
    Analysis analysis;
    analysis.systems = group_runs(inputs, options.group);
    analysis.models = fit_families(scale_points(analysis.systems));
    for (const PredictionRequest& request : options.predictions)
        for (const FamilyModel& model : analysis.models) {
            const ScalePoint& largest = model.points.back();
            if (auto one = predict(model, request.units.value_or(largest.units),
                                   request.batch.value_or(largest.batch)))
                analysis.predictions.push_back(std::move(*one));
        }
    if (!options.predictions.empty() && analysis.models.empty())
        analysis.notes.emplace_back(
            "nothing can be predicted: no system has units, a batch size, epochs and a run that ended with "
            "success");
    analysis.placements = place_data(analysis.systems, analysis.models, options.data_bytes, options.capacity);
    analysis.figures =
        make_figures(analysis.systems, analysis.models, analysis.predictions, options.rooflines);
    note_what_is_missing(analysis);
    return analysis;
}

std::vector<RooflineRun> read_rooflines(const Json& json) {
    std::vector<RooflineRun> result;
    auto text = [](const Json& object, const char* key) {
        const auto found = object.find(key);
        return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    auto number = [](const Json& object, const char* key) -> std::optional<double> {
        const auto found = object.find(key);
        if (found == object.end() || !found->is_number()) return std::nullopt;
        const double value = found->get<double>();
        return above_zero(value) ? std::optional(value) : std::nullopt;
    };
    auto take = [&](const Json& object) {
        if (!object.is_object()) return;
        RooflineRun run{.label = text(object, "run"),
                        .benchmark = text(object, "benchmark"),
                        .ceilings = {},
                        .binds = text(object, "binds"),
                        .attained = number(object, "samples_per_second_of_rank")};
        const auto ceilings = object.find("ceilings");
        if (ceilings == object.end() || !ceilings->is_array()) return;
        for (const Json& one : *ceilings)
            if (one.is_object())
                run.ceilings.push_back({text(one, "resource"), number(one, "samples_per_second")});
        result.push_back(std::move(run));
    };
    const auto runs = json.find("runs");  // the end of what is no object
    const Json& all = runs != json.end() ? *runs : json;
    if (all.is_array())
        for (const Json& one : all) take(one);
    else
        take(all);
    return result;
}

}  // namespace belay::bench
