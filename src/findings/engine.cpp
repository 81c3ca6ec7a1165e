#include "findings/engine.h"

#include "core/units.h"
#include "findings/detect/detector.h"
#include "findings/prepared_tables.h"
#include "findings/sql_text.h"
#include "record/archive/recorded_span.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

using core::Result;

namespace {

Result<record::QueryResult> rows_of(record::Archive& archive, const Rule& rule, const Run& run) {
    BELAY_TRY(rows, archive.query_of_person(with_values(rule, rule.sql, run)));
    if (rule.detector == nullptr) return rows;
    std::map<std::string, double, std::less<>> values;
    for (const DetectorParameter& parameter : rule.detector->parameters) {
        const Threshold* threshold = rule.find_threshold(parameter.name);
        values[std::string(parameter.name)] =
            threshold != nullptr ? threshold->value : parameter.default_value;
    }
    return rule.detector->detect(rows, Parameters(std::move(values)));
}

// What a job or its operators would have to give for a table to have rows.
std::string what_fills(const std::string& table) {
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"gpu", "samples of GPUs"},
        {"progress", "steps of a training"},
        {"step_series", "steps of a training"},
        {"vetting", "vetting"},
    };
    std::vector<std::string> names = tables_behind({table});
    names.push_back(table);
    for (const std::string& name : names)
        for (const auto& [key, words] : kWords)
            if (key == name) return std::string(words);
    return "rows in " + table;
}

// The finding of one rule, if there is one. Errors: kBadInput of its SQL.
Result<std::optional<Finding>> ask(record::Archive& archive, const Rule& rule, const Run& run,
                                   Report& report) {
    BELAY_TRY(reason, reason_to_skip(archive, rule, run));
    if (reason) {
        report.skipped.push_back({rule.id, reason->why, reason->lacks});
        return std::nullopt;
    }
    BELAY_TRY(rows, rows_of(archive, rule, run));
    report.evaluated.push_back(rule.id);
    return make_finding(rule, rows, run);
}

// From when times are told: from where those of a report count.
Result<core::Time> shown_start(record::Archive& archive, const Run& run) {
    BELAY_TRY(span, record::recorded_span(archive));
    BELAY_TRY(gpus, archive.query_kept_row("SELECT epoch_us(min(time)) FROM gpu_series"));
    core::Time start = span ? span->first : run.start;
    if (const double first = record::as_double(gpus[0]); !std::isnan(first))
        start = std::min(start, core::time_from_microseconds(first));
    return start;
}

// A query that can be prepared and fails when it runs need not be wrong: a table may be damaged.
core::Error told(record::Archive& archive, const Rule& rule, const Run& run, core::Error error) {
    const bool binds = archive.columns_of(with_values(rule, rule.sql, run)).has_value();
    const std::string who = binds ? "rule " + rule.id + ", while it read this record" : "rule " + rule.id;
    return std::move(error).context(who).at(rule.sql_place);
}

}  // namespace

Result<Report> diagnose(record::Archive& archive, const RuleSet& rules, const PrepareGpus& prepare_gpus) {
    BELAY_TRY(run, prepare(archive, prepare_gpus));
    BELAY_TRY(start, shown_start(archive, run));
    Report report{.problems = rules.problems,
                  .start = start,
                  .end = run.end,
                  .start_up_seconds = core::to_seconds(run.steady_start - run.start)};
    for (const auto& [table, error] : archive.unreadable())  // `prepare` met what nothing stands in for
        if (!archive.is_thrown_away(table)) report.problems.push_back(error);
    for (const Rule& rule : rules.rules) {
        auto finding = ask(archive, rule, run, report);
        if (!finding) {
            report.skipped.push_back({rule.id, "its SQL failed: " + finding.error().message()});
            report.problems.push_back(told(archive, rule, run, std::move(finding.error())));
        } else if (*finding) {
            report.findings.push_back(std::move(**finding));
        }
    }
    put_in_order(report.findings, rules.rules);
    return report;
}

std::string with_values(const Rule& rule, std::string_view sql, const Run& run) {
    return substitute(sql, [&](std::string_view name) -> std::optional<std::string> {
        if (const Threshold* threshold = rule.find_threshold(name)) return number_literal(threshold->value);
        return run_literal(run, name, rule.with_start_up);
    });
}

Result<std::optional<SkipReason>> reason_to_skip(record::Archive& archive, const Rule& rule, const Run& run) {
    for (const std::string& table : rule.needs) {
        auto rows = run.rows.find(table);
        if (rows == run.rows.end() || rows->second == 0)
            return SkipReason{fmt::format("no rows in {}", table), what_fills(table)};
    }
    double seconds = rule.with_start_up ? run.seconds() : run.steady_seconds();
    if (seconds < core::to_seconds(rule.min_run))
        return SkipReason{
            fmt::format("{} of the run{}, it takes {}",
                        core::format_duration(core::Duration(static_cast<int64_t>(seconds * 1e9))),
                        rule.with_start_up ? "" : " after start-up", core::format_duration(rule.min_run)),
            "a longer run"};
    for (const std::string& table : tables_behind(rule.needs)) {
        auto coverage = run.coverage.find(table);
        if (coverage != run.coverage.end() && coverage->second < rule.min_coverage)
            return SkipReason{fmt::format("coverage of {} is {:.0f} %, it takes {:.0f} %", table,
                                          coverage->second * 100, rule.min_coverage * 100),
                              "better coverage"};
    }
    if (rule.applies_when.empty()) return std::nullopt;
    BELAY_TRY(answer, archive.query_of_person(with_values(rule, rule.applies_when, run)));
    const auto* applies = answer.rows.empty() ? nullptr : std::get_if<bool>(&answer.rows[0].at(0));
    if (applies != nullptr && *applies) return std::nullopt;
    return SkipReason{rule.otherwise.empty() ? "does not apply: " + rule.applies_when : rule.otherwise, ""};
}

}  // namespace belay::findings
