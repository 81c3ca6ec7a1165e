// From which scale on the data of a benchmark fit the memory or the local flash of its nodes, and what it costs to bring them
// there.
#pragma once

#include "bench/analysis/prediction.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

// A tenth of a file system or of memory stays free, as `belay stage scan` plans (storage.md, scan verdict).
inline constexpr double kReserve = 0.1;

// Bytes of a node, of which data may take all but the reserve; nothing is not known.
struct NodeCapacity {
    std::optional<double> memory, flash;
};

// Bytes of the published data set of a benchmark with so many training samples; nothing for others.
struct PublishedData {
    std::string_view benchmark;
    double train_samples, bytes;
};
std::optional<double> published_data_bytes(std::string_view benchmark, double train_samples);

// Fewest nodes that hold `bytes` together, each its part; nothing unless both are above zero.
std::optional<double> nodes_that_hold(double bytes, double capacity);

struct PlacementRow {
    // Of the system, or "fits memory" or "fits local flash": the fewest nodes where it does.
    std::string label;
    bool measured = false;
    double units = 0, nodes = 0, bytes_per_node = 0;
    std::optional<bool> fits_memory, fits_flash;
    std::optional<double> staging, seconds, staging_share;  // of T_run; predicted where it was not measured
    std::optional<double> bytes_per_second_and_node;        // of staging
};

struct Placement {
    std::string benchmark, family;
    double data_bytes = 0;
    std::optional<double> nodes_for_memory, nodes_for_flash;
    std::vector<PlacementRow> rows;
    std::string missing;  // what keeps something from being known, and what would give it; empty if nothing
};

// One for each family. `data_bytes`: instead of what is published.
std::vector<Placement> place_data(std::span<const SystemResult> systems, std::span<const FamilyModel> models,
                                  std::optional<double> data_bytes, const NodeCapacity& capacity);

}  // namespace belay::bench
