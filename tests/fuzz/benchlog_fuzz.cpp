// Any bytes as a log of MLPerf HPC: a verdict always comes, the same with an explanation and without, and simdjson's
// way of reading and the exact one say the same; and the joint analysis takes whatever facts and epochs such a log has.
#include "bench/analysis/analysis.h"
#include "bench/compliance/check.h"
#include "bench/compliance/mllog_reader.h"
#include "bench/compliance/rules.h"
#include "bench/compliance/verdict_json.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay::bench;

namespace {

bool equal(double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
}

void compare_ways(const RuleSet& rules, std::string_view text) {
    const LogLines fast = read_log(text, rules.keys(), ReadingWay::kFast);
    const LogLines exact = read_log(text, rules.keys(), ReadingWay::kExact);
    if (fast.lines != exact.lines || fast.bad_lines != exact.bad_lines ||
        fast.events.size() != exact.events.size())
        std::abort();
    for (size_t at = 0; at < fast.events.size(); ++at) {
        const LogEvent &one = fast.events[at], &other = exact.events[at];
        if (one.line != other.line || one.key != other.key || !equal(one.time_ms, other.time_ms) ||
            !same(one.value, other.value) || !same(one.metadata, other.metadata))
            std::abort();
    }
}

// With a run of another system beside it, so that there is something to compare.
void analyze(const LogVerdict& verdict, std::string_view text) {
    RunInput run{.file = "fuzz", .facts = verdict.facts};
    run.reached_target = text.size() % 2 == 0;
    run.epochs = read_epochs(text);
    if (!run.epochs.empty()) run.first_epoch = run.epochs.front().number;
    RunInput other = run;
    other.system = "other";
    other.units = 8;
    AnalysisOptions options;
    options.predictions.push_back({.units = 64, .batch = 256});
    const Analysis analysis = analyze_runs(std::vector{run, run, other}, options);
    to_json(analysis, true).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    all_csv(analysis);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const RuleSet sets[] = {RuleSet::named("1.0.0").value(), RuleSet::named("3.0.0").value()};
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    compare_ways(sets[1], text);
    for (const RuleSet& rules : sets) {
        const CheckOptions options{.warnings_are_errors = size % 3 == 0, .quiet = size % 3 == 1};
        const LogVerdict verdict = check_log(rules, "fuzz", text, options);
        const ExplainedVerdict explained = explain_log(rules, "fuzz", text, options);
        if (verdict.passed != verdict.errors.empty() || verdict.passed != explained.verdict.passed ||
            verdict.errors.size() != explained.verdict.errors.size())
            std::abort();
        to_json(explained).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        analyze(verdict, text);
    }
    return 0;
}
