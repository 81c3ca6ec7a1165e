// belay stage pack: many files into few.
#include "cli/build_facts.h"
#include "cli/commands.h"
#include "cli/threads_option.h"
#include "core/progress_display.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/pack/pack.h"

#include <cstdlib>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct PackArguments {
    std::string source;
    std::string output;
    std::string format = "tar";
    std::string name;
    std::optional<std::string> shard_size;
    std::optional<uint64_t> shuffle_key;
    std::string links = "follow";
    std::string url;
    std::string licence;
    std::string revision;
    size_t threads = std::max(1U, std::thread::hardware_concurrency());
    bool json = false;
};

Result<std::optional<int64_t>> source_date() {
    const char* text =
        std::getenv("SOURCE_DATE_EPOCH");  // NOLINT(concurrency-mt-unsafe): nobody sets it meanwhile
    if (text == nullptr) return std::nullopt;
    const auto seconds = core::parse_number<int64_t>(text);
    if (!seconds || *seconds < 0)
        return core::bad_input("SOURCE_DATE_EPOCH is \"{}\", not a number of seconds", core::printable(text));
    return seconds;
}

Result<int> run(const core::CommandContext& context, const PackArguments& options) {
    BELAY_TRY(date, source_date());
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(memory_share, stage::memory_share_of(configuration));
    core::ProgressDisplay display(core::system_clock());
    stage::PackOptions wanted{
        .format = options.format == "tar" ? shard::Format::kTar : shard::Format::kSquashfs,
        .name = options.name,
        .shuffle_key = options.shuffle_key,
        .links = options.links == "follow" ? stage::LinkRule::kFollow : stage::LinkRule::kSkip,
        .threads = options.threads,
        .memory_share = memory_share,
        .url = options.url,
        .licence = options.licence,
        .revision = options.revision,
        .tool = fmt::format("belay {}", kVersion),
        .source_date = date};
    if (options.shard_size) {
        BELAY_TRY(size, core::with_context(core::parse_size(*options.shard_size), "--shard-size"));
        if (size.bytes == 0)
            return core::bad_input("--shard-size: 0 bytes hold nothing")
                .hint("leave it out for the usual size");
        wanted.shard_bytes = size.bytes;
    }
    bool is_started = false;
    wanted.progress = [&](uint64_t done, uint64_t total) {
        if (!is_started) display.start("packing", core::ProgressUnit::bytes(), total);
        is_started = true;
        display.update(done);
    };
    auto packed = stage::pack(options.source, options.output, wanted);
    display.finish();
    if (!packed) return std::unexpected(std::move(packed.error()));
    const shard::Manifest& manifest = packed->manifest;
    const std::string file = (std::filesystem::path(options.output) / shard::kManifestName).string();
    if (options.json) {
        context.print_json(nlohmann::ordered_json{{"manifest", file},
                                                  {"shards", manifest.shards.size()},
                                                  {"samples", manifest.samples()},
                                                  {"records", manifest.records()},
                                                  {"bytes", manifest.bytes()},
                                                  {"kept_shards", packed->kept_shards},
                                                  {"without_suffix", packed->without_suffix}});
        return 0;
    }
    using core::format_count;
    context.print("{}: {} in {}, {}, {}\n", core::printable(options.output),
                  format_count(manifest.records(), "file"), format_count(manifest.samples(), "sample"),
                  format_count(manifest.shards.size(), "shard"),
                  core::format_binary(core::ByteSize{manifest.bytes()}));
    if (packed->skipped_links > 0)
        context.print("left out: {}\n", format_count(packed->skipped_links, "symbolic link"));
    if (packed->without_suffix > 0)
        context.print("note: webdataset leaves out {}: the name has no suffix\n",
                      format_count(packed->without_suffix, "file"));
    if (packed->kept_shards > 0)
        context.print("there already: {}\n", format_count(packed->kept_shards, "shard"));
    return 0;
}

}  // namespace

void add_stage_pack(core::Application& application) {
    auto command = application.add({
        .name = "stage pack",
        .summary = "pack many files into few, from which each can be read at random",
        .description =
            "Makes tar shards, each with an index beside it that says where every file lies and "
            "what its checksum is, and a manifest. webdataset and tar read the "
            "shards as they are; \"belay stage cat\" and the reader libraries find one file "
            "without reading those before it. Files that share a name up to "
            "its first dot are a sample and stay together. A file with several names (hard links) is "
            "packed under each of them, and holes of sparse files become zeros in tar shards.\n\n"
            "The same files give the same bytes. An interrupted pack resumes when the command is "
            "run again: shards that are done are kept, while an image starts anew. "
            "The manifest is written last, and until then the directory holds no data set.",
        .examples = {{"belay stage pack train -o /scratch/train",
                      "shards of 512 MiB in the order of the names"},
                     {"belay stage pack train -o out --shuffle 1", "samples in an order that depends on 1"},
                     {"belay stage pack train -o out --licence CC-BY-4.0 --url https://example.org/data",
                      "with what people should know of the data"}},
    });
    auto options = std::make_shared<PackArguments>();
    command.options().add_option("DIR", options->source, "the directory with the files")->required();
    command.options()
        .add_option("-o,--output", options->output, "make the shards in OUT")
        ->required()
        ->type_name("OUT");
    command.choice("--format", options->format, {"tar", "squashfs"},
                   "tar shards, or one image that can be mounted");
    command.options()
        .add_option("--name", options->name, "prefix of the shards' names (default: the name of DIR)")
        ->type_name("NAME");
    command.options()
        .add_option("--shard-size", options->shard_size,
                    "make tar shards of at most SIZE; a larger sample has a shard of its own")
        ->type_name("SIZE")
        ->default_str(core::to_text(core::ByteSize{stage::kUsualShardBytes}));
    command.options()
        .add_option("--shuffle", options->shuffle_key,
                    "put the samples of tar shards into an order that depends on KEY")
        ->type_name("KEY");
    command.choice("--links", options->links, {"follow", "skip"},
                   "follow links to files within DIR (one that leads out of it, or to a directory, is an "
                   "error), or skip all links");
    command.options()
        .add_option("--url", options->url, "say in the manifest where the data come from")
        ->type_name("URL");
    command.options()
        .add_option("--licence", options->licence, "say under which licence they are")
        ->type_name("LICENCE");
    command.options()
        .add_option("--revision", options->revision, "say which revision of the data it is")
        ->type_name("REVISION");
    add_threads(command, options->threads, "make N shards at a time");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run(context, *options); });
}

}  // namespace belay::cli
