#include "findings/cases.h"

#include "core/text.h"
#include "findings/sql_text.h"
#include "schema/tables/gpu_digest.h"

#include <algorithm>

namespace belay::findings {

using core::Result;

namespace {

// 2026-01-01, so that the same case is the same tables at any time.
constexpr int64_t kStart = 1'767'225'600'000'000;

// In expressions: noise(x) is the same number from -1 to 1 for the same x; pulse(t, period, width) is 1 for
// `width` seconds of every `period`, else 0.
constexpr const char* kMacros = R"(
    CREATE MACRO noise(x) AS (hash(x) % 20001)::DOUBLE / 10000 - 1;
    CREATE MACRO pulse(t, period, width) AS CASE WHEN t % period < width THEN 1 ELSE 0 END)";

std::string fill_sql(const Fill& fill, const Case& spec) {
    // A case may set the time and the node as well.
    auto sets = [&](std::string_view name) {
        return std::ranges::find(fill.set, name, &Expressions::value_type::first) != fill.set.end();
    };
    std::string columns;
    if (!sets("time")) columns += fmt::format(", make_timestamp({} + (t * 1e6)::BIGINT) AS time", kStart);
    if (!sets("node")) columns += ", 'n' || n AS node";
    for (const auto& [column, sql] : fill.set) columns += fmt::format(", ({}) AS \"{}\"", sql, column);
    for (const auto& [column, sql] : fill.rates)
        columns += fmt::format(", sum(({}) * {}) OVER (PARTITION BY n, k ORDER BY t) AS \"{}\"", sql,
                               fill.every, column);
    return fmt::format(
        R"(INSERT INTO "{table}" BY NAME
           SELECT * EXCLUDE (t, i, n, k, chosen) FROM (
             SELECT t, i, n, k {columns},
                    ({where}) AS chosen
             FROM (SELECT {from} + i * {every} AS t, i
                   FROM (SELECT unnest(range(0, (floor(({to} - {from}) / {every}) + 1)::BIGINT)) AS i)),
                  (SELECT unnest(range(0, {nodes})) AS n), (SELECT unnest(range(0, {per_node})) AS k))
           WHERE chosen)",
        fmt::arg("table", fill.table), fmt::arg("columns", columns),
        fmt::arg("where", fill.where.empty() ? "true" : fill.where),
        fmt::arg("from", number_literal(fill.from)),
        fmt::arg("to", number_literal(fill.to.value_or(spec.seconds))),
        fmt::arg("every", number_literal(fill.every)), fmt::arg("nodes", spec.nodes),
        fmt::arg("per_node", fill.per_node));
}

// A case of GPUs says their series; the other two tables follow from it as they do from a digest.
std::string means_sql(const schema::Table& table, std::string_view keys, std::string_view others) {
    std::string columns;
    for (const schema::Column& column : table.columns) {
        bool is_quantity = std::ranges::find(schema::kGpuSeries.columns, column.name,
                                             &schema::Column::name) != schema::kGpuSeries.columns.end();
        if (is_quantity && column.type == schema::ColumnType::kReal)
            columns += fmt::format(", avg({0}) AS {0}", column.name);
    }
    return fmt::format(
        "INSERT INTO {0} BY NAME SELECT {1} {2} {3} FROM gpu_series WHERE NOT EXISTS (FROM {0}) GROUP BY {4}",
        table.name, keys == "time" ? "time" : "min(time) AS time, node, device", others, columns, keys);
}

Result<> derive_gpu_tables(record::Archive& archive) {
    BELAY_CHECK(archive.define(means_sql(
        schema::kGpuSummary, "node, device",
        ", sum(seconds) AS allocated_seconds, sum(seconds) AS observed_seconds, 1 AS weight, 0 AS \"index\", "
        "100 * avg(saturated_share) AS score, max(memory_used_bytes) AS memory_peak_bytes, "
        "80e9 AS memory_total_bytes")));
    return archive.define(
        means_sql(schema::kJobSeries, "time",
                  ", 1 AS observed_share, avg(coalesce(pcie_bytes_per_second, 0) + "
                  "coalesce(nvlink_bytes_per_second, 0) + coalesce(c2c_bytes_per_second, 0)) AS "
                  "link_bytes_per_second"));
}

std::string why_not(const Case& spec, const Report& report) {
    auto found = std::ranges::find(report.findings, spec.rule, &Finding::id);
    auto skipped = std::ranges::find(report.skipped, spec.rule, &Skipped::id);
    if (!spec.fires) return found == report.findings.end() ? "" : "it fires: " + found->summary;
    if (spec.severity && found != report.findings.end() && found->severity != *spec.severity)
        return fmt::format("its severity is {}", severity_name(found->severity));
    if (found == report.findings.end())
        return skipped != report.skipped.end() ? "it was skipped: " + skipped->why : "it does not fire";
    return found == report.findings.begin() ? "" : report.findings.front().id + " comes before it";
}

}  // namespace

Result<record::Archive> build_case(const Case& spec) {
    BELAY_TRY(archive, record::Archive::in_memory());
    for (const schema::Table* table : schema::gpu_digest_tables())
        BELAY_CHECK(archive.add(*table, stream::Batch(*table)));
    BELAY_CHECK(archive.define(kMacros));
    for (const Fill& fill : spec.fills) {
        auto filled = archive.define(fill_sql(fill, spec));
        if (!filled)
            return std::unexpected(std::move(filled.error())
                                       .as(core::ErrorKind::kBadInput)
                                       .context(fmt::format("case \"{}\", table {}", spec.name, fill.table))
                                       .at(fill.place));
    }
    BELAY_CHECK(derive_gpu_tables(archive));
    return archive;
}

Result<CaseResult> run_case(const Case& spec, const RuleSet& rules) {
    if (std::ranges::find(rules.rules, spec.rule, &Rule::id) == rules.rules.end())
        return core::bad_input("case \"{}\" is of a rule \"{}\" that is not there", spec.name, spec.rule)
            .at(spec.place);
    BELAY_TRY(archive, build_case(spec));
    BELAY_TRY(report, diagnose(archive, rules, {}));
    for (const core::Error& problem : report.problems)
        return std::unexpected(core::Error(problem).context(fmt::format("case \"{}\"", spec.name)));
    std::string why = why_not(spec, report);
    return CaseResult{&spec, why.empty(), why};
}

}  // namespace belay::findings
