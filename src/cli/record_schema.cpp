// belay record schema: the tables of a record, from the declarations themselves.
#include "cli/commands.h"
#include "cli/record_json.h"
#include "cli/text_table.h"
#include "schema/event_kinds.h"

#include <memory>

namespace belay::cli {

namespace {

std::string or_nothing(std::string_view text) {
    return text.empty() ? "null" : std::string(text);
}

void print_table(const core::CommandContext& context, const schema::Table& table, bool markdown) {
    std::vector<std::vector<std::string>> rows;
    for (const schema::Column& column : table.columns)
        rows.push_back({std::string(column.name), std::string(schema::sql_type(column.type)),
                        std::string(column.unit), std::string(column.doc)});
    if (!markdown) {
        context.print("{}: {}\n\n{}\n", table.name, table.doc,
                      render_table({"column", "type", "unit", "meaning"}, rows));
        return;
    }
    context.print("\n## {}\n\n{}.\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", table.name,
                  table.doc);
    for (const auto& row : rows) context.print("| `{}` | {} | {} | {} |\n", row[0], row[1], row[2], row[3]);
}

void print_event_kinds(const core::CommandContext& context) {
    context.print(
        "\n## Kinds of events\n\nWhat the columns of `event` hold, by kind.\n\n"
        "| kind | what happened | subject | code | value |\n|---|---|---|---|---|\n");
    for (const schema::EventKindRow& kind : schema::kEventKinds)
        context.print("| `{}` | {} | {} | {} | {} |\n", kind.name, kind.doc, or_nothing(kind.subject),
                      or_nothing(kind.code), or_nothing(kind.value));
}

}  // namespace

void add_record_schema(core::Application& application) {
    auto command = application.add({
        .name = "record schema",
        .summary = "list the tables and columns of a record",
        .description = "Every table with its columns, their types, units and meanings. --markdown prints the "
                       "reference page.",
        .examples = {{"belay record schema --json", "the same for a script"}},
        .bounds_own_waits = true,
    });
    struct Options {
        bool json = false;
        bool markdown = false;
    };
    auto options = std::make_shared<Options>();
    command.json(options->json);
    command.options().add_flag("--markdown", options->markdown, "as a Markdown page");
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        if (options->json) {
            context.print_json(schema_json());
            return 0;
        }
        if (options->markdown)
            context.print("# Tables of the job record\n\nMade by `belay record schema --markdown`.\n");
        for (const schema::Table* table : schema::tables()) print_table(context, *table, options->markdown);
        if (!options->markdown) return 0;
        print_event_kinds(context);
        context.print("\n# What a sealed record keeps of its samples\n");
        for (const auto kept : {schema::gpu_digest_tables(), schema::kept_series_tables()})
            for (const schema::Table* table : kept) print_table(context, *table, true);
        return 0;
    });
}

}  // namespace belay::cli
