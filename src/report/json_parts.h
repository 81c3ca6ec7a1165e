// Parts of to_json (json.h).
#pragma once

#include "report/model.h"

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::report {

// Null for a missing value. Six digits are more than a screen shows, and a third of the size of seventeen.
nlohmann::ordered_json number(double value);
nlohmann::ordered_json numbers(const std::vector<double>& values);

template <typename T>
nlohmann::ordered_json list(const std::vector<T>& items, nlohmann::ordered_json (*convert)(const T&)) {
    auto result = nlohmann::ordered_json::array();
    for (const T& item : items) result.push_back(convert(item));
    return result;
}

nlohmann::ordered_json grid_json(const NodeGrid& grid);
nlohmann::ordered_json gpu_json(const std::optional<GpuReport>& gpu);
nlohmann::ordered_json findings_json(const std::optional<belay::findings::Report>& found, core::Time start);

}  // namespace belay::report
