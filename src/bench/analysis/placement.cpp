#include "bench/analysis/placement.h"

#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace belay::bench {

namespace {

// MLPerf HPC's data sets: mlcommons/hpc (CosmoFlow as gzipped TFRecord, v0.7 as raw ones; DeepCAM as HDF5).
constexpr PublishedData kPublished[] = {
    {"cosmoflow", 524'288, 1.7e12},
    {"cosmoflow", 262'144, 5.1e12},
    {"deepcam", 121'266, 8.8e12},
};

std::optional<bool> fits(double bytes_per_node, std::optional<double> capacity) {
    if (!capacity) return std::nullopt;
    return bytes_per_node <= *capacity * (1 - kReserve);
}

PlacementRow row_of(std::string label, double data_bytes, double units, double nodes,
                    const NodeCapacity& capacity) {
    PlacementRow row{.label = std::move(label),
                     .units = units,
                     .nodes = nodes,
                     .bytes_per_node = data_bytes / nodes,
                     .fits_memory = {},
                     .fits_flash = {},
                     .staging = {},
                     .seconds = {},
                     .staging_share = {},
                     .bytes_per_second_and_node = {}};
    row.fits_memory = fits(row.bytes_per_node, capacity.memory);
    row.fits_flash = fits(row.bytes_per_node, capacity.flash);
    return row;
}

void add_staging(PlacementRow& row, std::optional<double> staging, std::optional<double> seconds) {
    row.staging = staging;
    row.seconds = seconds;
    if (staging && seconds && *seconds > 0) row.staging_share = *staging / *seconds;
    if (staging && *staging > 0) row.bytes_per_second_and_node = row.bytes_per_node / *staging;
}

// The scale with the fewest nodes where it fits, as the model predicts it with the batch of the largest measured scale.
void add_threshold(Placement& placement, std::string label, std::optional<double> nodes,
                   double units_per_node, const FamilyModel* model, double data_bytes,
                   const NodeCapacity& capacity) {
    if (!nodes) return;
    PlacementRow row = row_of(std::move(label), data_bytes, *nodes * units_per_node, *nodes, capacity);
    if (model && model->staging)
        if (const auto predicted = predict(*model, row.units, model->points.back().batch))
            add_staging(row, predicted->staging, predicted->seconds);
    placement.rows.push_back(std::move(row));
}

}  // namespace

std::optional<double> published_data_bytes(std::string_view benchmark, double train_samples) {
    for (const PublishedData& one : kPublished)
        if (one.benchmark == benchmark && one.train_samples == train_samples) return one.bytes;
    return std::nullopt;
}

std::optional<double> nodes_that_hold(double bytes, double capacity) {
    if (!above_zero(bytes) || !above_zero(capacity)) return std::nullopt;
    return std::max(1.0, std::ceil(bytes / (capacity * (1 - kReserve))));
}

std::vector<Placement> place_data(std::span<const SystemResult> systems, std::span<const FamilyModel> models,
                                  std::optional<double> data_bytes, const NodeCapacity& capacity) {
    std::map<std::pair<std::string, std::string>, std::vector<const SystemResult*>> families;
    for (const SystemResult& system : systems) families[{system.benchmark, system.family}].push_back(&system);
    std::vector<Placement> placements;
    for (const auto& [key, members] : families) {
        Placement placement{.benchmark = key.first,
                            .family = key.second,
                            .nodes_for_memory = {},
                            .nodes_for_flash = {},
                            .rows = {},
                            .missing = {}};
        const double samples = members.front()->train_samples.value_or(0);
        const auto bytes = data_bytes ? data_bytes : published_data_bytes(key.first, samples);
        if (!above_zero(bytes)) {
            placement.missing = "the size of the data set is not known: give --data-bytes";
            placements.push_back(std::move(placement));
            continue;
        }
        placement.data_bytes = *bytes;
        std::vector<std::string> missing;
        if (!capacity.memory && !capacity.flash)
            missing.emplace_back("what a node can hold is not known: give --node-memory and --node-flash");
        const FamilyModel* model = nullptr;
        for (const FamilyModel& one : models)
            if (one.benchmark == key.first && one.family == key.second) model = &one;
        double units_per_node = 0;
        for (const SystemResult* system : members) {
            if (!system->units || !system->nodes || !(*system->nodes > 0)) continue;
            units_per_node = *system->units / *system->nodes;
            PlacementRow row = row_of(system->label(), *bytes, *system->units, *system->nodes, capacity);
            row.measured = true;
            add_staging(row, system->staging.mean, system->seconds.mean);
            placement.rows.push_back(std::move(row));
        }
        if (units_per_node > 0) {
            if (capacity.flash) placement.nodes_for_flash = nodes_that_hold(*bytes, *capacity.flash);
            if (capacity.memory) placement.nodes_for_memory = nodes_that_hold(*bytes, *capacity.memory);
            add_threshold(placement, "fits local flash", placement.nodes_for_flash, units_per_node, model,
                          *bytes, capacity);
            add_threshold(placement, "fits memory", placement.nodes_for_memory, units_per_node, model, *bytes,
                          capacity);
        } else {
            missing.emplace_back("the number of nodes is not known");
        }
        placement.missing = core::join(missing, "; ");
        placements.push_back(std::move(placement));
    }
    return placements;
}

}  // namespace belay::bench
