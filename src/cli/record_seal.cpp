// belay record seal: the segments of a record become Parquet files.
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/record_argument.h"
#include "core/program.h"
#include "core/utf8.h"
#include "record/archive/archive.h"
#include "score/digest_store.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

std::string why_left(const record::LeftSegment& segment) {
    return segment.failure ? segment.failure->headline() : "not all of it is in the tables";
}

}  // namespace

void add_record_seal(core::Application& application) {
    auto command = application.add({
        .name = "record seal",
        .summary = "close a record and turn it into Parquet files",
        .description =
            "Turns what the recorders wrote into one Parquet file per table, in RECORD/tables, "
            "which pandas, polars, DuckDB or Spark open without Belay. Run it once, when the job "
            "has ended. A record that is already sealed is not changed. Segments that could not "
            "be read as a whole are kept in RECORD/segments-lost.\n\n"
            "For GPUs, the tables gpu_summary, gpu_series (at most 600 buckets for each GPU) and "
            "job_series (second by second) are made as well, from which score, findings and "
            "report are read; of hosts, processes, interfaces and disks host_series, "
            "process_series, network_series, disk_series and io_series, and plot_series and plot_summary for "
            "the report. Sealing again makes them again if they are missing or old.",
        .examples = {{"belay record seal $SCRATCH/record", "close the record of a job that has ended"}},
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
        BELAY_TRY(sealing, record::seal(record, core::system_clock().now(), score::stand_ins()));
        keep_made_tables(record);
        if (options->json) {
            nlohmann::json kept = nlohmann::json::array(), reasons = nlohmann::json::array();
            for (const record::LeftSegment& segment : sealing.left) {
                kept.push_back(segment.path.string());
                reasons.push_back(why_left(segment));
            }
            context.print_json(nlohmann::json{{"record", record.string()},
                                              {"sealed", true},
                                              {"was_sealed_before", sealing.sealed_before},
                                              {"kept", std::move(kept)},
                                              {"kept_because", std::move(reasons)}});
            return 0;
        }
        context.print("{} {}\n", core::printable(record.string()),
                      sealing.sealed_before ? "was sealed before" : "is sealed");
        for (const record::LeftSegment& segment : sealing.left)
            context.print("kept: {}: {}\n", core::printable(segment.path.string()),
                          core::printable(why_left(segment)));
        return 0;
    });
}

}  // namespace belay::cli
