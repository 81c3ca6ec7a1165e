// belay stage verify, repair: whether a packed data set is what it was.
#include "cli/commands.h"
#include "cli/threads_option.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/verify/verify.h"

#include <algorithm>
#include <map>
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

// Of a file, at most so many: one that was cut has as many defects as it holds samples.
void print(const core::CommandContext& context, const std::vector<stage::Defect>& defects) {
    constexpr size_t kMostOfFile = 10;
    std::map<std::string_view, size_t> counts;
    for (const stage::Defect& defect : defects)
        if (++counts[defect.shard] <= kMostOfFile)
            context.print("{}{}: {}\n", core::printable(defect.shard),
                          defect.sample ? fmt::format(", {}", core::printable(*defect.sample)) : "",
                          core::printable(defect.why));
    for (const auto& [shard, count] : counts)
        if (count > kMostOfFile)
            context.print("{}: {} more; --json lists all\n", core::printable(shard),
                          core::format_count(count - kMostOfFile, "defect"));
}

// What repair cannot do, since the manifest says what belongs where.
bool says_that_manifest_is_damaged(const core::CommandContext& context,
                                   const std::vector<stage::Defect>& defects) {
    if (std::ranges::find(defects, shard::kManifestName, &stage::Defect::shard) == defects.end())
        return false;
    context.print(
        "{} says what the other files must be and cannot be repaired: pack the source again into a "
        "new directory\n",
        shard::kManifestName);
    return true;
}

Result<int> run_verify(const core::CommandContext& context, const VerifyArguments& options) {
    BELAY_TRY(verification, stage::verify(options.directory, options.threads));
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
        else if (!says_that_manifest_is_damaged(context, verification.bad))
            context.print("{}; to rebuild damaged files from the source: belay stage repair {}\n",
                          core::format_count(verification.bad.size(), "defect"),
                          core::printable(options.directory));
    }
    return verification.ok() ? 0 : 1;
}

Result<int> run_repair(const core::CommandContext& context, const VerifyArguments& options) {
    std::optional<std::filesystem::path> source;
    if (!options.source.empty()) source = options.source;
    BELAY_TRY(repair, stage::repair(options.directory, source, options.threads));
    if (options.json) {
        context.print_json(nlohmann::ordered_json{
            {"ok", repair.left.empty()}, {"repaired", repair.repaired}, {"bad", to_json(repair.left)}});
    } else {
        for (const std::string& file : repair.repaired) context.print("{}: rebuilt\n", core::printable(file));
        print(context, repair.left);
        says_that_manifest_is_damaged(context, repair.left);
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
                       "differs is told down to the file within a shard.",
        .examples = {{"belay stage verify /scratch/train", "say what is damaged"}},
        .exit_statuses = {{1, "something differs"}},
    });
    auto options = std::make_shared<VerifyArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    add_threads(command, options->threads, "read N shards at a time");
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
                       "must be given.",
        .examples = {{"belay stage repair /scratch/train", "from the directory that the manifest names"},
                     {"belay stage repair /scratch/train --source /store/train", "from a copy of it"}},
        .exit_statuses = {{1, "something remains damaged"}},
    });
    auto options = std::make_shared<VerifyArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    command.options()
        .add_option("--source", options->source,
                    "read the files from DIR (default: the directory they were packed from)")
        ->type_name("DIR");
    add_threads(command, options->threads, "check N shards at a time");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_repair(context, *options); });
}

}  // namespace belay::cli
