// Detectors: what a rule finds with more than SQL. A rule's SQL gives rows of series; the detector named by
// the rule turns them into rows of findings. Each is a row of the table in detector.cpp and a pure function.
#pragma once

#include "core/error.h"
#include "record/archive/database.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

// Values of the thresholds by name.
class Parameters {
  public:
    explicit Parameters(std::map<std::string, double, std::less<>> values) : values_(std::move(values)) {}
    double operator[](std::string_view name) const { return values_.find(name)->second; }

  private:
    std::map<std::string, double, std::less<>> values_;
};

struct DetectorParameter {
    std::string_view name;
    std::string_view unit;
    double default_value;
    std::string_view doc;
};

// Rows in: `time` where it looks at series, `node`, `device` and `task` where they tell one from another, and
// the columns that it needs. Rows out: start, end, node, device where they are known, and what it measured.
struct Detector {
    std::string_view name;
    std::string_view doc;
    std::span<const std::string_view> needs;
    std::span<const DetectorParameter> parameters;
    std::span<const std::string_view> gives;  // columns beside start, end, node, device and task
    record::QueryResult (*detect)(const record::QueryResult& rows, const Parameters& parameters);
};

std::span<const Detector> detectors();
const Detector* find_detector(std::string_view name);

}  // namespace belay::findings
