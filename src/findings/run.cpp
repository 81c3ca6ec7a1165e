#include "findings/run.h"

#include "findings/sql_text.h"
#include "record/series/sampling.h"

namespace belay::findings {

namespace {

constexpr RunName kNames[] = {
    {"run_start", "first moment of the run"},
    {"run_end", "last moment of the run"},
    {"steady_start", "end of the start-up; of a rule that includes it, the start of the run"},
    {"run_seconds", "length of the run"},
    {"steady_seconds", "length of the run after the start-up"},
    {"interval_seconds", "time between two samples"},
    {"longest_sample", "intervals of which a sample tells at most"},
    {"bucket_seconds", "length of a row of the prepared series"},
};

}  // namespace

std::span<const RunName> run_names() {
    return kNames;
}

std::optional<std::string> run_literal(const Run& run, std::string_view name, bool with_start_up) {
    core::Time steady = with_start_up ? run.start : run.steady_start;
    if (name == "run_start") return time_literal(core::to_microseconds(run.start));
    if (name == "run_end") return time_literal(core::to_microseconds(run.end));
    if (name == "steady_start") return time_literal(core::to_microseconds(steady));
    if (name == "run_seconds") return number_literal(run.seconds());
    if (name == "steady_seconds") return number_literal(core::to_seconds(run.end - steady));
    if (name == "interval_seconds") return number_literal(run.interval_seconds);
    if (name == "longest_sample") return number_literal(record::kLongestSample);
    if (name == "bucket_seconds") return number_literal(run.bucket_seconds);
    return std::nullopt;
}

}  // namespace belay::findings
