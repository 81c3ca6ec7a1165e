// belay record seal: the segments of a record become Parquet files.
#include "cli/commands.h"
#include "record/archive/archive.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

void add_record_seal(core::Application& application) {
    auto command = application.add({
        .name = "record seal",
        .summary = "close a record and turn it into Parquet files",
        .description = "Turns what the recorders wrote into one Parquet file per table, in RECORD/tables, "
                       "which pandas, polars, "
                       "DuckDB or Spark open without Belay. Run it once, when the job has ended. A record "
                       "that is sealed "
                       "already stays as it is.",
        .examples = {{"belay record seal $SCRATCH/record", "close the record of a job that has ended"}},
    });
    struct Options {
        std::string record;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, "directory of the record")->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(sealed, record::seal(options->record, core::system_clock().now()));
        if (options->json)
            context.print_json(
                {{"record", options->record}, {"sealed", true}, {"was_sealed_before", !sealed}});
        else
            context.print("{} {}\n", options->record, sealed ? "is sealed" : "was sealed before");
        return 0;
    });
}

}  // namespace belay::cli
