// The check types, as rows of data: what a protocol may name, its parameters, and the function that measures.
// `vet list`, validation and defaults follow from the rows.
#pragma once

#include "core/time.h"
#include "vet/verdict.h"

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace belay::vet {

struct Check;

// What a parameter's value is, and how it is written.
enum class Kind {
    kText,
    kInteger,  // 30, 30.0 or "30"
    kNumber,
    kShare,  // 0.85 or "85 %"
    kBoolean,
    kDuration,          // "500ms"
    kSeconds,           // 3 or 0.5, as vetnode has it
    kSize,              // "4GiB"
    kBandwidth,         // "10 Gbit/s"
    kTextList,          // at least one
    kPatternList,       // regular expressions (RE2), at least one
    kXidClassList,      // classes of the table of XIDs, at least one
    kVariables,         // name: text or null; where it is required, at least one
    kVetnodeSize,       // "4 GB", powers of 1024
    kVetnodeBandwidth,  // "15 GB/s", powers of 1024 bytes per second
    kPaperBandwidth,    // as above, or a bare number of 10^9 bytes per second
    kWarmup,            // {payload, runs}
    kRequirements,      // null, or a list of texts and lists of texts; never used
};

// Both ends belong to it, and the upper may be infinite; in the unit that the value has in JSON: seconds,
// bytes, or none.
struct Range {
    double least, most;
};

// The strings are literals.
struct Parameter {
    std::string_view name;
    Kind kind;
    std::string_view unit;          // of the value in JSON; empty if it has none
    std::string_view default_text;  // as written in YAML; empty: none
    bool required;
    std::string_view meaning;
    std::optional<Range> range = {};        // of numbers, durations and sizes; what is outside is a mistake
    std::string_view no_default_with = {};  // where this other parameter is given, the default is not taken
};

enum class Scope { kNode, kStep };                 // measured on each node alone, or by all together
enum class Cost { kInstant, kShort, kExclusive };  // under 1 s beside jobs, under 10 s, needs the node alone

// What one measurement found; the engine adds name, type and severity.
struct Outcome {
    Status status = Status::kError;
    std::optional<double> value = {};
    std::string unit = {};
    std::optional<double> limit = {};
    Reason reason = {};
    std::string device = {};
    std::string method = {};
    std::optional<int64_t> cpus = {};
};

// The machine as checks see it: tests put files of /proc and /sys under another root.
struct NodeView {
    std::filesystem::path root = "/";
    std::string nvml_library = {};  // empty: what BELAY_NVML_LIBRARY names, else the driver's
    std::filesystem::path path(std::string_view absolute) const {
        return root / std::filesystem::path(absolute).relative_path();
    }
};

using Measure = Outcome (*)(const Check& check, const NodeView& node);

struct CheckType {
    std::string_view type;
    Scope scope;
    Cost cost;
    std::string_view summary;
    std::span<const Parameter> parameters;
    Measure measure = nullptr;                  // of node checks; null: unsupported
    std::string_view unsupported_because = {};  // where Belay has no means to measure it
    core::Duration timeout = std::chrono::seconds(10);
    bool vetnode = false;  // stands in `evals:`, with vetnode's rules for unknown keys
};

// All rows: Belay's own, then vetnode's.
std::span<const CheckType> catalogue();
// The row, or null. vetnode's names go with and without the prefix "vetnode.evaluations.".
const CheckType* find_check_type(std::string_view type);

std::string_view kind_name(Kind kind);  // "size"
// "10ms to 10s", as values of the parameter are written; empty without a range.
std::string range_text(const Parameter& parameter);
std::string_view scope_name(Scope scope);
std::string_view cost_name(Cost cost);

// The parts of the catalogue.
std::span<const CheckType> host_check_types();
std::span<const CheckType> gpu_check_types();
std::span<const CheckType> device_check_types();
std::span<const CheckType> vetnode_check_types();

}  // namespace belay::vet
