// What a record says of the run as a whole: what guards ask and what the SQL of a rule may name.
#pragma once

#include "core/time.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::findings {

struct Run {
    core::Time start;
    core::Time end;
    core::Time steady_start;                              // end of the start-up
    double interval_seconds = 1;                          // of sampling
    double bucket_seconds = 1;                            // of the prepared series
    std::map<std::string, int64_t, std::less<>> rows;     // of every table, prepared ones too
    std::map<std::string, double, std::less<>> coverage;  // of periodic tables, 0 to 1

    double seconds() const { return core::to_seconds(end - start); }
    double steady_seconds() const { return core::to_seconds(end - steady_start); }
};

// Names that any SQL of a rule may use beside its thresholds, with their meaning.
struct RunName {
    std::string_view name;
    std::string_view doc;
};
std::span<const RunName> run_names();

// $name as an SQL literal. With `with_start_up` the steady time is the whole run.
std::optional<std::string> run_literal(const Run& run, std::string_view name, bool with_start_up);

}  // namespace belay::findings
