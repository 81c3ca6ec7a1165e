// belay record cut: the record of a job out of what agents wrote.
#include "cli/commands.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/cut/cut_spools.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

core::Result<> check_request(const record::CutRequest& request) {
    if (request.job_id <= 0)
        return core::bad_input("--job: {} is not the number of a job", request.job_id)
            .hint("squeue and sacct show it as JOBID");
    if (request.restart && *request.restart < 0)
        return core::bad_input("--restart: {} is less than 0", *request.restart)
            .hint("0 is the first run of a job");
    const std::string step = request.step.value_or("batch");
    const auto number = core::parse_number<int64_t>(step);
    if (step == "batch" || step == "interactive" || (number && *number >= 0)) return {};
    return core::bad_input("--step: \"{}\" is not a step", core::printable(step))
        .hint("a number from 0 on, batch or interactive");
}

}  // namespace

void add_record_cut(core::Application& application) {
    auto command = application.add({
        .name = "record cut",
        .summary = "make the record of a job from what agents wrote",
        .description = "Reads the spools of belay-agent, one for each node, and makes the record of a job in "
                       "DIR: samples of each node while the job was there, of GPUs while it held them, of "
                       "its own processes, and the events of that time. Coverage is counted only for the "
                       "job's time. The spools are not changed, and agents may go on writing to them.\n\n"
                       "The record is not sealed: belay record seal, score, findings and report accept it "
                       "like any other.",
        .examples = {{"belay record cut spool-n1 spool-n2 --job 4711 -o record", "a job on two nodes"},
                     {"belay record cut spool-n1 --job 4711 --step batch -o record",
                      "only its batch script"}},
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
        .add_option("--step", options->request.step, "only one step of it: its number, batch or interactive")
        ->type_name("STEP");
    command.options()
        .add_option("--restart", options->request.restart, "which run of a requeued job; default: the last")
        ->type_name("N");
    command.options()
        .add_option("-o,--output", options->record, "directory of the record; made if it does not exist")
        ->required()
        ->type_name("DIR");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        const std::vector<std::filesystem::path> spools(options->spools.begin(), options->spools.end());
        BELAY_CHECK(check_request(options->request));
        BELAY_TRY(cut, record::SpoolCut::plan(spools, options->request));
        BELAY_TRY(done, cut.write(options->record, core::system_clock().now()));
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
