// belay record query: SQL over a record.
#include "cli/commands.h"
#include "cli/record_json.h"
#include "cli/text_table.h"
#include "score/digest_store.h"

#include <cctype>
#include <memory>
#include <string_view>

namespace belay::cli {

namespace {

// Whether a word stands in it: gpu does not in gpu_summary.
bool names(std::string_view sql, std::string_view word) {
    auto is_part = [&](size_t i) {
        return i < sql.size() && (std::isalnum(static_cast<unsigned char>(sql[i])) != 0 || sql[i] == '_');
    };
    for (size_t at = sql.find(word); at != std::string_view::npos; at = sql.find(word, at + 1))
        if (!(at > 0 && is_part(at - 1)) && !is_part(at + word.size())) return true;
    return false;
}

}  // namespace

void add_record_query(core::Application& application) {
    auto command = application.add({
        .name = "record query",
        .summary = "ask a record in SQL",
        .description = "Runs one SQL query (DuckDB's dialect) over the tables of a record, sealed or not. "
                       "`belay record schema` "
                       "lists tables and columns. Counters end in _total: subtract to get rates. The query "
                       "can read nothing "
                       "but the record.",
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
    command.options().add_option("RECORD", options->record, "directory of the record")->required();
    command.options().add_option("SQL", options->sql, "the query")->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(archive, record::Archive::open(options->record));
        for (const char* kept : {"gpu_summary", "gpu_series", "job_series"})
            if (names(options->sql, kept)) score::attach_digest(archive);
        for (const auto& [table, error] : archive.unreadable())
            if (names(options->sql, table)) return std::unexpected(error);
        BELAY_TRY(result, archive.query(options->sql));
        if (options->json) {
            context.print_json(to_json(result));
            return 0;
        }
        std::vector<std::vector<std::string>> rows;
        for (const auto& row : result.rows) {
            rows.emplace_back();
            for (const record::Value& value : row) rows.back().push_back(to_text(value));
        }
        context.print("{}", render_table(result.columns, rows));
        return 0;
    });
}

}  // namespace belay::cli
