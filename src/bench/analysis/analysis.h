// The joint analysis of runs: systems at their scales, models of how they scale, predictions, placement of the data, figures.
//
//   Analysis analysis = analyze_runs(inputs, {.runs_wanted = ...});
//   to_json(analysis), figure_csv(analysis.figures[0])
#pragma once

#include "bench/analysis/figures.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::bench {

struct AnalysisOptions {
    GroupOptions group;
    std::vector<PredictionRequest> predictions;
    std::optional<double> data_bytes;
    NodeCapacity capacity;
    std::vector<RooflineRun> rooflines;
};

struct Analysis {
    std::vector<SystemResult> systems;
    std::vector<FamilyModel> models;
    std::vector<Prediction> predictions;
    std::vector<Placement> placements;
    std::vector<Figure> figures;
    std::vector<std::string> notes;  // what is missing, of all
};

// Never fails: what cannot be computed is missing, and `notes` or the notes of a system say why.
Analysis analyze_runs(std::span<const RunInput> inputs, const AnalysisOptions& options);

// {"systems", "models", "predictions", "placements", "figures", "notes"}. Seconds, samples; unknown is null. With `epochs`,
// each run has those of its log.
nlohmann::ordered_json to_json(const Analysis& analysis, bool epochs = false);

// RFC 4180 with "\n"; names of files without ".csv": "cosmoflow_1_time_against_units".
std::string figure_file_name(const Figure& figure);
std::string figure_csv(const Figure& figure);
std::string systems_csv(const Analysis& analysis);
std::string runs_csv(const Analysis& analysis);
std::string predictions_csv(const Analysis& analysis);
std::string placements_csv(const Analysis& analysis);
// All of them: name with ".csv", and bytes.
std::vector<std::pair<std::string, std::string>> all_csv(const Analysis& analysis);

// What `belay bench roofline --json` prints, {"machine", "runs"}; one run, or an array of them, will do. What is not of
// that shape is skipped.
std::vector<RooflineRun> read_rooflines(const nlohmann::ordered_json& json);

}  // namespace belay::bench
