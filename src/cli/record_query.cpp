// belay record query: SQL over a record.
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/record_argument.h"
#include "cli/record_json.h"
#include "cli/sql_words.h"
#include "cli/text_table.h"
#include "record/archive/value_json.h"
#include "report/plot_store.h"
#include "schema/tables/allocation.h"
#include "schema/tables/gpu.h"
#include "schema/tables/node_plots.h"
#include "score/digest_store.h"

#include <memory>
#include <string_view>

namespace belay::cli {

namespace {

using core::Result;

// The first table of the digest that the SQL names; "" for none.
std::string_view named_digest_table(std::string_view sql) {
    for (const schema::Table* table : schema::gpu_digest_tables())
        if (has_word(sql, table->name)) return table->name;
    return {};
}

// Makes the tables of series that the SQL names, and returns whether it names any.
Result<bool> add_named_series(record::Archive& archive, std::string_view sql) {
    bool any = false;
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        if (!has_word(sql, series.table->name)) continue;
        any = true;
        if (auto lost = archive.unreadable().find(series.source->name); lost != archive.unreadable().end())
            return std::unexpected(
                core::Error(lost->second).context(fmt::format("no table {}", series.table->name)));
    }
    if (!any) return false;
    BELAY_TRY(unread, add_series_tables(archive));
    if (unread && !named_digest_table(sql).empty()) return std::unexpected(std::move(*unread));
    return true;
}

// The same of the tables of a report's plots.
Result<> add_named_plots(record::Archive& archive, std::string_view sql) {
    for (const schema::Table* table : {&schema::kPlotSeries, &schema::kPlotSummary}) {
        if (!has_word(sql, table->name)) continue;
        std::vector<const schema::Table*> sources = {&schema::kAllocation};  // CPUs of the job
        for (const schema::SeriesTable& source : schema::kPlotSources) sources.push_back(source.source);
        for (const schema::Table* source : sources)
            if (auto lost = archive.unreadable().find(source->name); lost != archive.unreadable().end())
                return std::unexpected(
                    core::Error(lost->second).context(fmt::format("no table {}", table->name)));
        return report::add_plots(archive);
    }
    return {};
}

// What cannot be read must not answer as if it were empty, and what is there but holds no more must not be
// told to be nowhere.
Result<record::QueryResult> ask(const core::CommandContext& context, const std::string& record,
                                const std::string& sql) {
    BELAY_TRY(archive, open_for_queries(context, record));
    for (const auto* unread : {&archive.unreadable(), &archive.unread_annexes()})
        for (const auto& [table, error] : *unread)
            if (has_word(sql, table)) return std::unexpected(error);
    const std::string_view digest_table = named_digest_table(sql);
    BELAY_TRY(has_series, add_named_series(archive, sql));  // which makes tables of the digest, too
    BELAY_CHECK(add_named_plots(archive, sql));
    const Result<bool> attached =
        digest_table.empty() || has_series ? Result<bool>(true) : score::attach_digest(archive);
    auto result = archive.query_of_person(sql);
    if (!result && result.error().kind() == core::ErrorKind::kBadInput && result.error().hint_text().empty())
        result = std::unexpected(
            core::Error(result.error()).hint("belay record schema lists the tables and columns"));
    if (result || (attached && *attached)) return result;
    return std::unexpected(
        core::Error(attached ? result.error() : attached.error())
            .context(fmt::format("{} has no valid table {}", record, digest_table))
            .hint(archive.is_thrown_away(schema::kGpu.name)
                      ? "the samples from which to make it again were thrown away; other programs can still "
                        "read its Parquet file"
                      : "belay record seal makes it from the samples of GPUs, if there are any"));
}

}  // namespace

void add_record_query(core::Application& application) {
    auto command = application.add({
        .name = "record query",
        .summary = "query a record in SQL",
        .description = "Runs one SQL query (DuckDB's dialect) over the tables of a record, sealed or not. "
                       "`belay record schema` lists tables and columns. Counters end in _total: subtract to "
                       "get rates. The query can read only the record, and is stopped after the setting "
                       "query.time (2m), or when it needs more memory than query.memory (4GiB).",
        .examples =
            {{"belay record query r 'SELECT node, max(memory_anonymous_bytes) FROM host GROUP BY node'",
              "peak memory of each node"},
             {"belay record query r \"SELECT step, loss FROM progress WHERE kind = 'train' ORDER BY step\"",
              "the training loss"}},
    });
    struct Options {
        std::string record;
        std::string sql;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, kRecordArgument)->required();
    command.options().add_option("SQL", options->sql, "the query")->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(record, find_record(context, options->record));
        BELAY_TRY(result, ask(context, record, options->sql));
        if (options->json) {
            context.print_json(to_json(result));
            return 0;
        }
        std::vector<std::vector<std::string>> rows;
        for (const auto& row : result.rows) {
            rows.emplace_back();
            for (const record::Value& value : row) rows.back().push_back(record::to_text(value));
        }
        context.print("{}", render_table(result.columns, rows));
        return 0;
    });
}

}  // namespace belay::cli
