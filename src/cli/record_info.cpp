// belay record info: what is in a record, and what is missing from it.
#include "cli/commands.h"
#include "cli/record_argument.h"
#include "cli/record_json.h"
#include "cli/text_table.h"
#include "core/text.h"
#include "core/utf8.h"
#include "score/digest_store.h"

#include <memory>

namespace belay::cli {

namespace {

using core::printable;

std::string percent(const std::optional<double>& share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

void print_info(const core::CommandContext& context, const record::RecordInfo& info) {
    const record::JobFacts& job = info.manifest.job;
    context.print("job       {}{}{}\n", job.id ? std::to_string(*job.id) : "without Slurm",
                  job.cluster.empty() ? "" : " on " + printable(job.cluster),
                  job.name.empty() ? "" : ", \"" + printable(job.name) + "\"");
    context.print("user      {}\n", printable(job.user));
    context.print("nodes     {}\n", printable(core::join(job.nodes, " ")));
    context.print("start     {}\n", job.start ? core::format_time(*job.start) : "-");
    context.print("end       {}\n", job.end ? core::format_time(*job.end) : "-");
    context.print("state     {}\n", info.sealed          ? "sealed"
                                    : info.being_written ? "being recorded"
                                                         : "not sealed");
    context.print("coverage  {}\n\n", percent(info.coverage));
    std::vector<std::vector<std::string>> rows;
    for (const schema::Table* table : schema::tables()) {
        const record::TableInfo& facts = info.tables.at(std::string(table->name));
        rows.push_back({std::string(table->name), std::to_string(facts.rows),
                        facts.start ? core::format_time(*facts.start) : "-",
                        facts.end ? core::format_time(*facts.end) : "-", percent(facts.coverage)});
    }
    context.print("{}", render_table({"table", "rows", "first", "last", "coverage"}, rows));
    for (const record::AnnexName& annex : info.annexes)
        context.print("annex: {} has added to {}\n", printable(annex.owner), annex.table->name);
    for (const stream::Lost& lost : info.lost) {
        std::string place =
            lost.has_place() ? fmt::format(" at byte {}: {} bytes", lost.offset, lost.bytes) : "";
        context.print("lost: {}{}: {}\n", printable(lost.file), place, printable(lost.reason));
    }
}

}  // namespace

void add_record_info(core::Application& application) {
    auto command = application.add({
        .name = "record info",
        .summary = "show what is in a record and what is missing",
        .description = "Shows job, tables, time range, and coverage: the share of the expected samples that "
                       "is in the record. Tables whose rows come when something happens have none. If a "
                       "record was cut off or damaged, the parts that could not be read are listed as lost.",
        .examples = {{"belay record info --json r", "the same for a script"}},
    });
    struct Options {
        std::string record;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, kRecordArgument)->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(record, find_record(context, options->record));
        BELAY_TRY(archive, score::open_record(record));
        BELAY_TRY(info, archive.info());
        if (options->json)
            context.print_json(to_json(info));
        else
            print_info(context, info);
        return 0;
    });
}

}  // namespace belay::cli
