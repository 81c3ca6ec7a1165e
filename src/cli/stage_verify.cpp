// belay stage verify, repair: whether a packed data set is what it was.
#include "cli/commands.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/verify/verify.h"

#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct VerifyArguments {
    std::string directory;
    std::string source;
    size_t threads = std::max(1U, std::thread::hardware_concurrency());
    bool json = false;
};

nlohmann::ordered_json to_json(const std::vector<stage::Defect>& defects) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const stage::Defect& defect : defects)
        rows.push_back({{"shard", defect.shard},
                        {"sample", defect.sample ? nlohmann::ordered_json(*defect.sample)
                                                 : nlohmann::ordered_json(nullptr)},
                        {"why", defect.why}});
    return rows;
}

void print(const core::CommandContext& context, const std::vector<stage::Defect>& defects) {
    for (const stage::Defect& defect : defects)
        context.print("{}{}: {}\n", core::printable(defect.shard),
                      defect.sample ? fmt::format(", {}", core::printable(*defect.sample)) : "",
                      core::printable(defect.why));
}

Result<int> run_verify(const core::CommandContext& context, const VerifyArguments& options) {
    BELAY_TRY(verification, stage::verify(options.directory, std::max<size_t>(options.threads, 1)));
    if (options.json) {
        context.print_json(nlohmann::ordered_json{{"ok", verification.ok()},
                                                  {"shards", verification.shards},
                                                  {"bytes", verification.bytes},
                                                  {"bad", to_json(verification.bad)}});
    } else {
        print(context, verification.bad);
        if (verification.ok())
            context.print("{}: {}, {}: as packed\n", core::printable(options.directory),
                          core::format_count(verification.shards, "shard"),
                          core::format_binary(core::ByteSize{verification.bytes}));
        else
            context.print("{}; to make damaged files again from the source: belay stage repair {}\n",
                          core::format_count(verification.bad.size(), "defect"),
                          core::printable(options.directory));
    }
    return verification.ok() ? 0 : 1;
}

Result<int> run_repair(const core::CommandContext& context, const VerifyArguments& options) {
    std::optional<std::filesystem::path> source;
    if (!options.source.empty()) source = options.source;
    BELAY_TRY(repair, stage::repair(options.directory, source, std::max<size_t>(options.threads, 1)));
    if (options.json) {
        context.print_json(nlohmann::ordered_json{
            {"ok", repair.left.empty()}, {"repaired", repair.repaired}, {"bad", to_json(repair.left)}});
    } else {
        for (const std::string& file : repair.repaired)
            context.print("{}: made again\n", core::printable(file));
        print(context, repair.left);
        if (repair.repaired.empty() && repair.left.empty())
            context.print("{}: there was nothing to repair\n", core::printable(options.directory));
    }
    return repair.left.empty() ? 0 : 1;
}

}  // namespace

void add_stage_verify(core::Application& application) {
    auto command = application.add({
        .name = "stage verify",
        .summary = "check that packed data are as they were packed",
        .description = "Reads every shard and its index once and compares them with the manifest. What "
                       "differs is told down to the file within a shard. "
                       "The exit status is 1 if anything differs.",
        .examples = {{"belay stage verify /scratch/train", "say what is damaged"}},
    });
    auto options = std::make_shared<VerifyArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    command.options().add_option("--threads", options->threads, "read N shards at a time")->type_name("N");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_verify(context, *options); });
}

void add_stage_repair(core::Application& application) {
    auto command = application.add({
        .name = "stage repair",
        .summary = "rebuild damaged shards from their source",
        .description = "Checks as \"belay stage verify\" does, and packs the shards that are damaged again; "
                       "an index is rebuilt from its shard. A file is replaced only by "
                       "one that is what the manifest says. Of data that another user has packed, --source "
                       "must be given. The exit status is 1 if anything remains damaged.",
        .examples = {{"belay stage repair /scratch/train", "from the directory that the manifest names"},
                     {"belay stage repair /scratch/train --source /store/train", "from a copy of it"}},
    });
    auto options = std::make_shared<VerifyArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    command.options()
        .add_option("--source", options->source,
                    "read the files from DIR (default: the directory they were packed from)")
        ->type_name("DIR");
    command.options().add_option("--threads", options->threads, "check N shards at a time")->type_name("N");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_repair(context, *options); });
}

}  // namespace belay::cli
