#include "score/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::score {

using Json = nlohmann::ordered_json;

namespace {

Json shares_json(const Score& score) {
    if (std::isnan(score.point)) return Json();
    return {{"idle", score.shares.idle},
            {"gap", score.shares.gap},
            {"unsaturated", score.shares.unsaturated},
            {"saturated", score.shares.saturated}};
}

Json list_json(const std::vector<PartScore>& parts) {
    Json list = Json::array();
    for (const PartScore& part : parts) list.push_back(to_json(part));
    return list;
}

}  // namespace

Json number_or_null(double value) {
    return std::isfinite(value) ? Json(value) : Json();
}

Json to_json(const PartScore& part) {
    Json json = {{"node", part.node}};
    if (!part.device.empty()) {
        json["device"] = part.device;
        json["index"] = part.index;
        json["name"] = part.name.empty() ? Json() : Json(part.name);
    }
    json["score"] = number_or_null(part.score.point);
    json["low"] = part.score.low;
    json["high"] = part.score.high;
    json["coverage"] = part.score.coverage;
    json["shares"] = shares_json(part.score);
    return json;
}

Json summary_json(const JobScore& job) {
    return {{"score", number_or_null(job.score.point)},
            {"low", job.score.low},
            {"high", job.score.high},
            {"graded", job.score.graded() && std::isfinite(job.score.point)},
            {"steady_state", number_or_null(job.steady_state)},
            {"startup_seconds", job.startup_seconds ? Json(*job.startup_seconds) : Json()},
            {"coverage", job.score.coverage},
            {"shares", shares_json(job.score)},
            {"bound", job.bound ? Json(to_text(*job.bound)) : Json()},
            {"link_bound_share", number_or_null(job.link_bound_share)},
            {"busy_engine", number_or_null(job.busy_engine)},
            {"busy_sm", number_or_null(job.busy_sm)},
            {"imbalance", number_or_null(job.imbalance)},
            {"burstiness", number_or_null(job.burstiness.variation)},
            {"burstiness_index", number_or_null(job.burstiness.index)},
            {"energy_wh", number_or_null(job.energy_wh)},
            {"score_per_kwh", number_or_null(job.saturated_hours_per_kwh)},
            {"flop_use", number_or_null(job.flop_use)},
            {"memory_use", number_or_null(job.memory_use)},
            {"others_busy", number_or_null(job.others_busy)},
            {"memory_peak_bytes", number_or_null(job.memory_peak_bytes)},
            {"ceilings", {{"version", job.ceilings_version}, {"calibrated", job.calibrated}}},
            {"resource", job.gpus.empty() ? "cpu" : "gpu"}};
}

Json to_json(const JobScore& job) {
    Json json = summary_json(job);
    json["gpus"] = list_json(job.gpus);
    json["nodes"] = list_json(job.nodes);
    json["meaning"] = job.meaning;
    json["notes"] = job.notes;
    return json;
}

Json to_json(const std::vector<Change>& changes) {
    Json list = Json::array();
    for (const Change& change : changes)
        list.push_back({{"name", change.name},
                        {"before", number_or_null(change.before)},
                        {"after", number_or_null(change.after)},
                        {"difference", number_or_null(change.after - change.before)},
                        {"low", number_or_null(change.low)},
                        {"high", number_or_null(change.high)},
                        {"significant", std::isfinite(change.low) ? Json(change.significant) : Json()}});
    return list;
}

}  // namespace belay::score
