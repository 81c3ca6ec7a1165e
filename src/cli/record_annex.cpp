// belay record annex: rows that came after a record was sealed.
#include "cli/commands.h"
#include "core/file.h"
#include "core/program.h"
#include "record/archive/annex.h"
#include "record/place.h"
#include "record/rows_json.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

constexpr uint64_t kMostBytes = 64U << 20;

std::vector<std::string> tables_that_take_annexes() {
    std::vector<std::string> names;
    for (const schema::Table* table : schema::tables())
        if (table->takes_annexes) names.emplace_back(table->name);
    return names;
}

}  // namespace

void add_record_annex(core::Application& application) {
    auto command = application.add({
        .name = "record annex",
        .summary = "add to a sealed record what became known later",
        .description =
            "Adds rows to one table. The rows are a JSON array of objects whose keys are columns of the "
            "table; `belay record schema` lists these. From then on, queries and reports read them together "
            "with what was recorded. Use it for what is found out after the job: a verdict on its nodes, a "
            "fault that was found in them, why Slurm ended it.\n\nThe rows belong to OWNER, the program or "
            "person who adds them: adding again replaces what the same OWNER added to the table before, and "
            "an empty array removes it. What was recorded never changes.",
        .examples =
            {{"belay record annex r health --table event --rows found.json",
              "what was found in the nodes after the job"},
             {"belay record query r \"SELECT time, node, message FROM event WHERE kind = 'node_repaired'\"",
              "it is there like everything else"}},
    });
    struct Options {
        std::string record;
        std::string owner;
        std::string table = "event";
        std::string rows;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, "directory of the record")->required();
    command.options()
        .add_option("OWNER", options->owner, "name of who adds the rows, in lower case")
        ->required();
    command.choice("--table", options->table, tables_that_take_annexes(), "table of the rows");
    command.options()
        .add_option("--rows", options->rows, "file with the rows in JSON")
        ->required()
        ->type_name("FILE");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        auto text = core::read_file(options->rows, kMostBytes);
        if (!text && text.error().cause() == core::Cause::kNotFound)
            return std::unexpected(std::move(text.error())
                                       .as(core::ErrorKind::kBadInput)
                                       .hint("--rows: name a file with an array of rows in JSON"));
        if (!text) return std::unexpected(std::move(text.error()));
        BELAY_TRY(rows, record::rows_from_json(*schema::find_table(options->table), *text, options->rows));
        BELAY_TRY(claim, record::claim_record(options->record));
        BELAY_CHECK(record::put_annex(claim, options->owner, rows));
        if (options->json)
            context.print_json(nlohmann::json{{"record", options->record},
                                              {"owner", options->owner},
                                              {"table", options->table},
                                              {"rows", rows.rows()}});
        else
            context.print("{}: {} rows of {} {} by {}\n", options->record,
                          rows.empty() ? "the" : std::to_string(rows.rows()), options->table,
                          rows.empty() ? "taken away" : "added", options->owner);
        return 0;
    });
}

}  // namespace belay::cli
