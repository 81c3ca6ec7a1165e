// belay stage layout: over how many servers of a parallel file system to stripe files.
#include "cli/commands.h"
#include "core/process.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/layout/apply.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct LayoutOptions {
    std::string path;
    std::string access = "sequential";
    std::optional<core::ByteSize> size;
    uint64_t clients = 1;
    std::optional<uint64_t> osts;
    std::string pool;
    bool apply = false;
    bool json = false;
};

constexpr uint64_t kUsualOsts = 32;

nlohmann::ordered_json layout_json(const stage::LayoutInput& input, const stage::LayoutAdvice& advice,
                                   const std::vector<std::string>& argv, bool applied,
                                   const std::optional<std::string>& why_not) {
    auto or_null = [](const auto& value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
    };
    nlohmann::ordered_json components = nlohmann::ordered_json::array();
    for (const stage::LayoutComponent& component : advice.components)
        components.push_back({{"end_bytes", or_null(component.end_bytes)},
                              {"stripes", component.stripes},
                              {"stripe_bytes", component.stripe_bytes}});
    return {{"access", to_text(input.access)},
            {"file_bytes", or_null(input.file_bytes)},
            {"clients", input.clients},
            {"osts", input.osts},
            {"components", components},
            {"command", argv},
            {"reasons", advice.reasons},
            {"notes", advice.notes},
            {"applied", applied},
            {"why_not_applied", or_null(why_not)}};
}

Result<int> run_layout(const core::CommandContext& context, const LayoutOptions& options) {
    BELAY_TRY(access, stage::parse_layout_access(options.access));
    BELAY_TRY(target, stage::look_at_layout_target(options.path));
    stage::LayoutInput input{.access = access,
                             .clients = options.clients,
                             .osts = options.osts.value_or(target.osts.value_or(kUsualOsts)),
                             .pool = options.pool};
    if (options.size)
        input.file_bytes = options.size->bytes;
    else if (needs_migration(target))
        input.file_bytes = target.file_bytes;
    BELAY_TRY(advice, stage::advise_layout(input));
    if (!options.osts && !target.osts)
        advice.notes.push_back(
            fmt::format("how many OSTs there are is not known; {} were assumed (--osts)", kUsualOsts));
    if (needs_migration(target))
        advice.notes.emplace_back(
            "the file exists: lfs migrate copies it into the new layout, and nobody may write to it "
            "meanwhile");
    else
        advice.notes.emplace_back(
            "a layout is that of files that are made from now on; older ones keep theirs");
    const std::vector<std::string> argv = layout_command(advice, target.path, needs_migration(target));
    std::optional<std::string> why_not = why_not_applied(target);
    const bool applied = options.apply && !why_not;
    if (applied) BELAY_CHECK(apply_layout(advice, target));
    if (!options.apply && !why_not) why_not = "--apply was not given";
    if (options.json) {
        context.print_json(layout_json(input, advice, argv, applied, why_not));
        return options.apply && !applied ? 1 : 0;
    }
    context.print("{}\n", core::printable(core::quote_command(argv)));
    for (const std::string& reason : advice.reasons) context.print("  {}\n", reason);
    for (const std::string& note : advice.notes) context.print("note: {}\n", note);
    if (applied)
        context.print("set\n");
    else
        context.print("not set: {}\n", core::printable(*why_not));
    return options.apply && !applied ? 1 : 0;
}

}  // namespace

void add_stage_layout(core::Application& application) {
    auto command = application.add({
        .name = "stage layout",
        .summary = "say over how many servers of Lustre to stripe files",
        .description =
            "Advises a layout for the files of a directory by their size, how they are read or written, and "
            "by how many, and prints the lfs command that sets it. "
            "Without --size the layout grows with each file.\n\n"
            "With --apply it is set, where the path is a directory or a new file on a Lustre file system and "
            "lfs is there; else the command is printed with the "
            "reason why it was not run, and the exit status is 1. A file that exists is never changed.",
        .examples = {{"belay stage layout /scratch/train --size 1GiB --clients 64",
                      "for large files that many nodes read"},
                     {"belay stage layout /scratch/ckpt --access per-rank --size 12GB --clients 512 --apply",
                      "set it for a file from each of 512 ranks"}},
        .exit_statuses = {{1, "the layout was not set, although --apply was given"}},
    });
    auto options = std::make_shared<LayoutOptions>();
    command.options()
        .add_option("PATH", options->path, "a directory, or a file that does not exist yet")
        ->required();
    command.choice("--access", options->access, stage::layout_access_names(),
                   "sequential: in order; image: by many nodes; per-rank: a file for each rank; random: "
                   "pieces of less than 1 MiB");
    command.options()
        .add("--size", "bytes of a typical file",
             [options](std::span<const std::string> texts) -> Result<> {
                 BELAY_TRY(size, core::parse_size(texts.back()));
                 options->size = size;
                 return {};
             })
        ->type_name("SIZE");
    command.options()
        .add_option("--clients", options->clients, "nodes that read at once, or ranks that write a file each")
        ->type_name("N");
    command.options()
        .add_option("--osts", options->osts, "object storage targets of the file system; as lfs says")
        ->type_name("N");
    command.options()
        .add_option("--pool", options->pool, "pool of OSTs, as the site calls it")
        ->type_name("NAME");
    command.options().add_flag("--apply", options->apply, "set the layout");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_layout(context, *options); });
}

}  // namespace belay::cli
