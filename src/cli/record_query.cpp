// belay record query: SQL over a record.
#include "cli/commands.h"
#include "cli/record_json.h"
#include "cli/text_table.h"

#include <memory>

namespace belay::cli {

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
