// belay stage ls, cat: what packed data hold.
#include "cli/commands.h"
#include "core/utf8.h"
#include "stage/dataset/dataset.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct LsArguments {
    std::string directory;
    std::string key;
    bool names_only = false;
    bool json = false;
};

Result<int> run_ls(const core::CommandContext& context, const LsArguments& options) {
    if (options.names_only && options.json)
        return core::bad_input("--null and --json are two forms of the list").hint("give one of them");
    BELAY_TRY(dataset, stage::Dataset::open(options.directory));
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    BELAY_CHECK(dataset.list([&](const shard::ManifestShard& shard, const shard::Record& record) -> Result<> {
        if (options.names_only)
            context.print("{}{}", record.name, '\0');
        else if (options.json)
            rows.push_back({{"name", record.name},
                            {"bytes", record.bytes},
                            {"shard", shard.path},
                            {"sample", record.sample}});
        else
            context.print("{:>12}  {}  {}\n", record.bytes, core::printable(shard.path),
                          core::printable(record.name));
        return {};
    }));
    if (options.json && !options.names_only) context.print_json(rows);
    return 0;
}

Result<int> run_cat(const core::CommandContext& context, const LsArguments& options) {
    BELAY_TRY(dataset, stage::Dataset::open(options.directory));
    BELAY_CHECK(dataset.read(options.key, [&](std::string_view piece) -> Result<> {
        if (std::fwrite(piece.data(), 1, piece.size(), context.out()) == piece.size()) return {};
        return core::errno_error(errno, "cannot write to standard output");
    }));
    return 0;
}

}  // namespace

void add_stage_ls(core::Application& application) {
    auto command = application.add({
        .name = "stage ls",
        .summary = "list the files in packed data",
        .description =
            "Lists size, shard and name of each file, from the indexes alone. Control characters and "
            "bytes that are not UTF-8 are replaced; --null shows them.",
        .examples = {{"belay stage ls /scratch/train", "all files"}},
    });
    auto options = std::make_shared<LsArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    command.options().add_flag("-0,--null", options->names_only,
                               "only names, byte by byte as they are, each followed by a NUL: for xargs -0");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_ls(context, *options); });
}

void add_stage_cat(core::Application& application) {
    auto command = application.add({
        .name = "stage cat",
        .summary = "print one file of packed data",
        .description = "Finds the file in the indexes and reads nothing else. Its checksum is compared.",
        .examples = {{"belay stage cat /scratch/train class3/000017.jpg >17.jpg", "one image"}},
        .exit_statuses = {{1, "the file is damaged"}},
    });
    auto options = std::make_shared<LsArguments>();
    command.options().add_option("OUT", options->directory, "the directory of the shards")->required();
    command.options()
        .add_option("KEY", options->key, "the file's name in the directory that was packed")
        ->required();
    command.run([options](const core::CommandContext& context) { return run_cat(context, *options); });
}

}  // namespace belay::cli
