// belay stage copy: data to the nodes of a job, read once.
#include "cli/commands.h"
#include "cli/step_members.h"
#include "core/host_name.h"
#include "core/program.h"
#include "core/progress_display.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/copy/clean.h"
#include "stage/copy/copy.h"
#include "stage/verify/verify.h"

#include <cmath>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct Options {
    std::string source;
    std::string destination;
    std::string rate;
    core::ByteSize chunk{};  // 0: by the size of the source
    std::string links = "follow";
    bool verify = false;
    bool json = false;
};

double per_second(uint64_t bytes, core::Duration elapsed) {
    return static_cast<double>(bytes) / std::max(core::to_seconds(elapsed), 1e-9);
}

// `verified`: whether this node's copy is what the manifest says; nothing where that was not asked.
nlohmann::ordered_json to_json(const stage::CopyReport& report, std::optional<bool> verified) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    nlohmann::ordered_json missing = nlohmann::ordered_json::array();
    for (const stage::CopyNode& node : report.nodes) {
        const double seconds = core::to_seconds(node.figures.elapsed);
        nlohmann::ordered_json row{{"node", node.name}, {"rank", node.rank}, {"ok", !node.failure}};
        if (node.failure) {
            row["why"] = node.failure->headline();
            missing.push_back(node.name);
        }
        row["received_bytes"] =
            node.failure ? nlohmann::ordered_json() : nlohmann::ordered_json(node.figures.received_bytes);
        row["resumed_chunks"] =
            node.failure ? nlohmann::ordered_json() : nlohmann::ordered_json(node.figures.resumed_chunks);
        row["refetched_chunks"] =
            node.failure ? nlohmann::ordered_json() : nlohmann::ordered_json(node.figures.refetched);
        row["seconds"] = node.failure ? nlohmann::ordered_json() : nlohmann::ordered_json(seconds);
        row["bytes_per_second"] =
            node.failure ? nlohmann::ordered_json()
                         : nlohmann::ordered_json(per_second(report.bytes, node.figures.elapsed));
        nodes.push_back(std::move(row));
    }
    return {{"ok", report.is_whole() && verified.value_or(true)},
            {"verified", verified ? nlohmann::ordered_json(*verified) : nlohmann::ordered_json()},
            {"files", report.files},
            {"bytes", report.bytes},
            {"chunks", report.chunks},
            {"seconds", core::to_seconds(report.elapsed)},
            {"missing", std::move(missing)},
            {"nodes", std::move(nodes)}};
}

void print(const core::CommandContext& context, const std::string& destination,
           const stage::CopyReport& report) {
    context.print("{}: {}, {} in {}\n", core::printable(destination),
                  core::format_count(report.files, "file"), core::format_binary(core::ByteSize{report.bytes}),
                  core::format_duration(report.elapsed));
    for (const stage::CopyNode& node : report.nodes) {
        const std::string name = core::printable(node.name);
        if (node.failure) {
            context.print("{}: no copy\n", name);
            continue;
        }
        context.print("{}: {}, {}", name, core::format_duration(node.figures.elapsed),
                      core::format_bytes_per_second(per_second(report.bytes, node.figures.elapsed)));
        if (node.figures.resumed_chunks > 0)
            context.print(", there already: {} of {}", node.figures.resumed_chunks,
                          core::format_count(report.chunks, "chunk"));
        if (node.figures.refetched > 0)
            context.print(", came damaged and sent again: {}",
                          core::format_count(node.figures.refetched, "chunk"));
        context.print("\n");
    }
}

// The nodes without a copy, each with what failed there.
core::Error missing_error(const stage::CopyReport& report) {
    std::optional<core::Error> error;
    for (const stage::CopyNode& node : report.nodes) {
        if (!node.failure) continue;
        core::Error one = core::Error(*node.failure)
                              .context(fmt::format("{} has no copy", core::printable(node.name)))
                              .as(core::ErrorKind::kSystem);
        error = error ? std::move(*error).also(one) : std::move(one);
    }
    return std::move(*error).hint(
        "what these nodes have is kept: give the command again, without nodes that are faulty");
}

// What rank 0 says for all need not be said by each.
bool is_said_by_first(const core::Error& error, const stage::CopyStep& step) {
    return step.rank > 0 && (error.cause() == core::Cause::kCancelled ||
                             (step.rank > 1 && error.cause() == core::Cause::kUnreachable));
}

// What was damaged at the source, too, which chunks and their checksums do not tell.
Result<> verify_copy(const std::string& destination) {
    BELAY_TRY(verification, stage::verify(destination, std::max(1U, std::thread::hardware_concurrency())));
    if (verification.ok()) return {};
    const stage::Defect& first = verification.bad.front();
    const size_t others = verification.bad.size() - 1;
    return core::negative(
               "{}: {}: {}{}", core::printable(destination), core::printable(first.shard),
               core::printable(first.why),
               others == 0 ? "" : fmt::format(" (and {} more)", core::format_count(others, "defect")))
        .hint("look at the source: belay stage verify, belay stage repair; then clean and copy again");
}

Result<int> run(const core::CommandContext& context, const Options& options) {
    stage::CopyOptions wanted{
        .chunk_bytes = options.chunk.bytes == 0 ? std::nullopt : std::optional<uint64_t>(options.chunk.bytes),
        .links = options.links == "follow" ? stage::LinkRule::kFollow : stage::LinkRule::kSkip,
        .only_packed = options.verify};
    if (!options.rate.empty()) {
        BELAY_TRY(rate, core::with_context(core::parse_bandwidth(options.rate), "--rate"));
        wanted.rate = static_cast<uint64_t>(rate.bytes_per_second());
        if (wanted.rate == 0)
            return core::bad_input("--rate {}: is less than a byte a second", core::printable(options.rate))
                .hint("leave it out for no limit");
    }
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(memory_share, stage::memory_share_of(configuration));
    wanted.memory_share = memory_share;
    BELAY_TRY(place, find_members(context, "this copy"));
    if (place.other_task) return several_tasks("stage copy");
    const bool speaks = !place.step || place.step->rank == 0;
    core::ProgressDisplay display(core::system_clock());
    bool is_started = false;
    if (speaks)
        wanted.progress = [&](uint64_t done, uint64_t total) {
            if (!is_started) display.start("copying", core::ProgressUnit::bytes(), total);
            is_started = true;
            display.update(std::min(done, total));
        };
    auto report = place.step ? stage::copy_in_step(options.source, options.destination, *place.step, wanted)
                             : stage::copy_here(options.source, options.destination, wanted);
    display.finish();
    if (!report && place.step && is_said_by_first(report.error(), *place.step))
        return report.error().exit_status();
    if (!report) return std::unexpected(std::move(report.error()));
    const Result<> verified = options.verify ? verify_copy(options.destination) : Result<>();
    if (!speaks) {
        BELAY_CHECK(verified);
        return 0;
    }
    if (options.json)
        context.print_json(
            to_json(*report, options.verify ? std::optional(verified.has_value()) : std::nullopt));
    else
        print(context, options.destination, *report);
    if (!report->is_whole()) return std::unexpected(missing_error(*report));
    BELAY_CHECK(verified);
    return 0;
}

struct CleanOptions {
    std::string destination;
    bool json = false;
};

Result<int> run_clean(const core::CommandContext& context, const CleanOptions& options) {
    BELAY_TRY(cleaned, stage::clean_copy(options.destination));
    if (options.json) {
        context.print_json(nlohmann::ordered_json{{"files", cleaned.files},
                                                  {"bytes", cleaned.bytes},
                                                  {"unfinished", cleaned.unfinished},
                                                  {"kept_files", cleaned.kept_count},
                                                  {"kept", cleaned.kept}});
        return 0;
    }
    context.print("{}: removed {}, {}{}\n", core::printable(options.destination),
                  core::format_count(cleaned.files, "file"),
                  core::format_binary(core::ByteSize{cleaned.bytes}),
                  cleaned.unfinished ? ", and parts of an unfinished copy" : "");
    for (const std::string& path : cleaned.kept)
        context.print("kept, because it is not as it was copied: {}\n", core::printable(path));
    if (cleaned.kept_count > cleaned.kept.size())
        context.print("and {} more\n", cleaned.kept_count - cleaned.kept.size());
    return 0;
}

}  // namespace

void add_stage_clean(core::Application& application) {
    auto command = application.add({
        .name = "stage clean",
        .summary = "remove what stage copy brought",
        .description =
            "Removes from DST, on this node, the files that \"belay stage copy\" brought there, and "
            "the parts of a copy that was not finished: at the end of a job, before the next one "
            "finds the disk full. A file is known by its inode; only those of this user go that "
            "still have the size and time of the copy. What lay there before the copy stays, "
            "also where it is the same as what was copied, and what was written there since.",
        .examples = {{"srun --ntasks-per-node=1 belay stage clean /tmp/train",
                      "the last line of a batch script"},
                     {"srun --task-epilog=clean.sh ./train",
                      "clean.sh holds \"belay stage clean /tmp/train\": also after a program that failed"}},
    });
    auto options = std::make_shared<CleanOptions>();
    command.options()
        .add_option("DST", options->destination, "the directory to which it was copied")
        ->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_clean(context, *options); });
}

void add_stage_copy(core::Application& application) {
    auto command = application.add({
        .name = "stage copy",
        .summary = "copy data to the nodes of a job, reading them once",
        .description =
            "Copies SRC, a file or a directory, to DST on each node of a step that is started "
            "with one task per node; "
            "the first node reads SRC, and the nodes hand it on to "
            "each other while it comes. Of packed data, what the manifest names is copied as it is; "
            "--verify says whether it was damaged before. DST "
            "must be a directory "
            "that each node has for itself. Outside a step this machine gets "
            "the copy.\n\n"
            "Files appear under their names when all of them are there; of a directory, the file "
            ".belay-copy and a "
            "packed set's manifest come last. What was "
            "interrupted goes on where it was when the command is given again and SRC has not "
            "changed; what is there "
            "already under the same names is compared (size, time of change, content), and never replaced. "
            "DST may not be SRC, nor "
            "lie within it, under whatever name. A tenth of the "
            "space stays free. Every chunk has a checksum, which is compared on each node.\n\n"
            "A node that dies does not keep the others from getting the copy, if Slurm does not "
            "end the step (srun "
            "--no-kill, --wait=0); the first node says which one it was, and its "
            "exit status is 3.\n\n"
            "The nodes know each other by munge, or by the secret in BELAY_STEP_SECRET. Holes of sparse "
            "files "
            "are written as zeros, and a file with several names (hard links) is copied under each of them.",
        .examples = {{"srun --ntasks-per-node=1 belay stage copy /capstor/scratch/train /tmp/train",
                      "to the memory or disk of every node"},
                     {"srun --ntasks-per-node=1 belay stage copy --rate 2GB/s model.safetensors "
                      "/tmp/model.safetensors",
                      "one file, at most 2 GB a second"},
                     {"belay stage copy train /local/train", "to a disk of this machine"}},
        .exit_statuses = {{0, "this node has the copy; on the first node: every node has it"},
                          {1, "with --verify: the copy on this node is not what the manifest says"},
                          {2,
                           "the command line or SRC is wrong, or DST holds something else; or SRC changed "
                           "while it was copied"},
                          {3, "the system failed, or, on the first node, another node has no copy"}},
    });
    auto options = std::make_shared<Options>();
    command.options().add_option("SRC", options->source, "a file, a directory, or packed data")->required();
    command.options()
        .add_option("DST", options->destination,
                    "where they come on each node; of a file, its new name or a directory")
        ->required();
    command.options()
        .add_option("--rate", options->rate,
                    "at most so many bytes a second from SRC, and over each connection: 2GB/s")
        ->type_name("RATE");
    command.size("--chunk", options->chunk,
                 "send, check and resume in chunks of SIZE (2MiB by default; above 512 GiB, larger ones)");
    command.choice("--links", options->links, {"follow", "skip"},
                   "follow links to files within SRC (one that leads out of it, or to a directory, is an "
                   "error), or skip all links");
    command.options().add_flag(
        "--verify", options->verify,
        "of packed data: compare each node's copy with the manifest afterwards, which also "
        "finds what was damaged at SRC");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run(context, *options); });
}

}  // namespace belay::cli
