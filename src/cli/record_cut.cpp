// belay record cut: the record of a job out of what agents wrote.
#include "cli/commands.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/cut/cut_spools.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

void add_record_cut(core::Application& application) {
    auto command = application.add({
        .name = "record cut",
        .summary = "make the record of a job of what agents wrote",
        .description =
            "Reads the spools of belay-agent, one for each node, and makes the record of a job in DIR: "
            "samples of a node "
            "while the job was there, those of GPUs while it held them, its own processes, and what happened "
            "meanwhile. "
            "Coverage is counted for the job's time alone. The spools stay as they are, and may be written "
            "meanwhile.\n\n"
            "The record is not sealed: belay record seal, score, findings and report take it like any other.",
        .examples = {{"belay record cut spool-n1 spool-n2 --job 4711 -o record", "a job on two nodes"},
                     {"belay record cut spool-n1 --job 4711 --step batch -o record",
                      "its batch script alone"}},
    });
    struct Options {
        std::vector<std::string> spools;
        record::CutRequest request;
        std::string record;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("SPOOL", options->spools, "directory into which an agent wrote")->required();
    command.options()
        .add_option("--job", options->request.job_id, "number of the job")
        ->required()
        ->type_name("ID");
    command.options()
        .add_option("--step", options->request.step, "one step of it alone: its number, batch or interactive")
        ->type_name("STEP");
    command.options()
        .add_option("--restart", options->request.restart,
                    "which run of a job that was requeued; else the last")
        ->type_name("N");
    command.options()
        .add_option("-o,--output", options->record, "directory of the record; made if it does not exist")
        ->required()
        ->type_name("DIR");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        const std::vector<std::filesystem::path> spools(options->spools.begin(), options->spools.end());
        BELAY_TRY(done,
                  record::cut_spools(spools, options->request, options->record, core::system_clock().now()));
        if (options->json) {
            context.print_json(nlohmann::json{{"record", options->record},
                                              {"nodes", done.nodes},
                                              {"rows", done.rows},
                                              {"lost", nlohmann::json(record::lost_json(done.lost))}});
            return 0;
        }
        context.print("{}: {} rows of {}\n", options->record, done.rows,
                      core::printable(core::join(done.nodes, " ")));
        for (const stream::Lost& lost : done.lost)
            context.print("lost: {}: {}\n", core::printable(lost.file), core::printable(lost.reason));
        return 0;
    });
}

}  // namespace belay::cli
