// belay stage scan: what lies in a directory and what reading it costs.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "core/progress_display.h"
#include "core/stop_on_signal.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "core/user.h"
#include "core/utf8.h"
#include "stage/scan/scan.h"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct ScanArguments {
    std::string directory;
    std::string local;
    double epochs = 10;
    size_t workers = 8;
    size_t threads = 8;
    double rate = 0;
    uint64_t inode_quota = 0;
    bool json = false;
};

std::string size(uint64_t bytes) {
    return core::format_binary(core::ByteSize{bytes});
}
std::string seconds(double value) {
    if (!std::isfinite(value)) return "unknown";
    return value < 10 ? fmt::format("{:.3f} s", value) : fmt::format("{:.0f} s", value);
}
std::string share(double value) {
    return std::isfinite(value) ? fmt::format("{:.0f} %", 100 * value) : "unknown";
}

void print_sizes(const core::CommandContext& context, const stage::TreeSums& sums) {
    std::vector<std::vector<std::string>> rows;
    for (size_t bucket = 0; bucket < stage::kSizeBuckets; ++bucket) {
        const stage::Amount& amount = sums.sizes[bucket];
        if (amount.files == 0) continue;
        rows.push_back({bucket == 0 ? "empty" : size(uint64_t{1} << (bucket - 1)),
                        std::to_string(amount.files), size(amount.bytes)});
    }
    if (!rows.empty()) context.print("\n{}", render_table({"files from", "count", "bytes"}, rows));
}

void print_users(const core::CommandContext& context, const stage::TreeSums& sums) {
    if (sums.users.size() < 2) return;
    std::vector<std::vector<std::string>> rows;
    for (const auto& [user, amount] : sums.users)
        rows.push_back(
            {core::printable(core::user_name(user)), std::to_string(amount.files), size(amount.bytes)});
    context.print("\n{}", render_table({"owner", "files", "bytes"}, rows));
}

// Of the files, those last read before so many days.
std::string older(const std::array<stage::Amount, stage::kAgeBuckets>& ages, size_t from) {
    stage::Amount sum;
    for (size_t bucket = from; bucket < ages.size(); ++bucket) sum.add(ages[bucket]);
    return fmt::format("{}, {}", core::format_count(sum.files, "file"), size(sum.bytes));
}

void print_scan(const core::CommandContext& context, const stage::Scan& scan) {
    const stage::TreeSums& sums = scan.sums;
    using core::format_count;
    context.print("files             {}, {}, in {}\n", sums.files.files, size(sums.files.bytes),
                  format_count(scan.walk.directories, "directory", "directories"));
    std::vector<std::string> others;
    if (sums.links > 0) others.push_back(format_count(sums.links, "symbolic link"));
    if (sums.others > 0)
        others.push_back(format_count(sums.others, "device, pipe or socket", "devices, pipes and sockets"));
    if (!others.empty()) context.print("others            {}\n", core::join(others, ", "));
    if (sums.sparse_files > 0)
        context.print("sparse            {}; all files take {} on the device\n",
                      format_count(sums.sparse_files, "file"), size(sums.allocated_bytes));
    if (sums.linked_files > 0)
        context.print("hard links        {} of {}\n", format_count(sums.linked_files, "name"),
                      format_count(sums.linked_inodes.size(), "file"));
    context.print("largest directory {}, {}\n",
                  sums.fullest_directory.empty() ? "DIR itself" : core::printable(sums.fullest_directory),
                  format_count(sums.most_entries, "entry", "entries"));
    context.print("unread            for 30 days: {}\n", older(sums.accessed, 4));
    context.print("duplicates        {} of {} that were compared, {}\n", scan.duplicates.files,
                  format_count(scan.duplicates.compared_files, "file"), size(scan.duplicates.bytes));
    context.print("compresses to     {} (zstd 3, a sample of {})\n", share(scan.compressed_share),
                  format_count(sums.sample.files().size(), "file"));
    print_sizes(context, sums);
    print_users(context, sums);
    context.print("\nscanned in        {}, {} to the file system\n", seconds(scan.walk.seconds),
                  format_count(scan.walk.calls, "call"));
    context.print("each file         takes {} to find and open\n",
                  std::isfinite(scan.open_seconds) ? fmt::format("{:.3f} ms", 1e3 * scan.open_seconds)
                                                   : "an unknown time");
    context.print("content           is read at {}\n",
                  std::isfinite(scan.speed.read_bytes_per_second)
                      ? core::format_bytes_per_second(scan.speed.read_bytes_per_second)
                      : "an unknown rate");
    context.print("an epoch          takes {} with {:g} {}; packed, {}\n",
                  seconds(scan.cost.loose_epoch_seconds), scan.cost_input.workers,
                  scan.cost_input.workers == 1 ? "worker" : "workers",
                  seconds(scan.cost.packed_epoch_seconds));
    context.print("verdict           {}\n", stage::to_text(scan.cost.verdict));
    for (const std::string& reason : scan.cost.reasons) context.print("                  {}\n", reason);
    for (const stage::WalkProblem& problem : scan.walk.problems)
        context.print("note: not read: {}: {}\n", core::printable(problem.path),
                      std::generic_category().message(problem.errno_value));
    if (scan.walk.problem_count > scan.walk.problems.size())
        context.print("note: and {} more\n", scan.walk.problem_count - scan.walk.problems.size());
    if (scan.local_is_same)
        context.print("note: --local is on the same file system: a copy would be read no faster\n");
    if (scan.walk.other_file_systems > 0)
        context.print("note: not entered, because another file system is mounted there: {}\n",
                      format_count(scan.walk.other_file_systems, "directory", "directories"));
}

Result<int> run(const core::CommandContext& context, const ScanArguments& options) {
    if (!(options.epochs > 0))
        return core::bad_input("--epochs {:g}: is not a number of epochs", options.epochs)
            .hint("write how often training reads the data");
    if (options.rate < 0)
        return core::bad_input("--rate {:g}: is negative", options.rate)
            .hint("write calls per second, or 0 for no limit");
    stage::ScanOptions wanted{.threads = options.threads,
                              .most_calls_per_second = options.rate,
                              .epochs = options.epochs,
                              .workers = options.workers,
                              .now = core::system_clock().now().time_since_epoch().count()};
    if (options.inode_quota > 0) wanted.inode_quota = options.inode_quota;
    if (!options.local.empty()) wanted.local = options.local;
    core::ProgressDisplay display(core::system_clock());
    std::string shown;
    wanted.progress = [&](std::string_view phase, uint64_t done) {
        if (phase != shown) display.start(shown = phase, core::ProgressUnit::items("names"));
        display.update(done);
    };
    const core::StopOnSignal stop;
    wanted.stop = stop.flag();
    const auto scan = stage::scan(options.directory, wanted);
    display.finish();
    if (!scan) return std::unexpected(scan.error());
    if (options.json)
        context.print_json(stage::to_json(*scan));
    else
        print_scan(context, *scan);
    return 0;
}

}  // namespace

void add_stage_scan(core::Application& application) {
    auto command = application.add({
        .name = "stage scan",
        .summary = "say what lies in a directory and what reading it costs",
        .description = "Counts files by size, age and owner, looks more closely at a sample of them, and "
                       "measures what this file system takes "
                       "to open and to read a file. From that follows how long an epoch takes that reads "
                       "each file once, how long it would take from "
                       "packed shards, and whether packing or copying is worth its cost.\n\n"
                       "Symbolic links are not followed and other file systems are not entered. Nothing is "
                       "changed, not even access times where the "
                       "files are yours; those of directories are the kernel's to keep.",
        .examples = {{"belay stage scan data", "a verdict with its reasons"},
                     {"belay stage scan data --epochs 90 --workers 16",
                      "for a longer training with more workers"},
                     {"belay stage scan data --local /tmp", "compared with copying it to the nodes first"}},
        .ends_in_order = true,
    });
    auto options = std::make_shared<ScanArguments>();
    command.options().add_option("DIR", options->directory, "the directory")->required();
    command.options()
        .add_option("--epochs", options->epochs, "how often training will read the data")
        ->type_name("N");
    command.options()
        .add_option("--workers", options->workers, "processes of the loader that read at once")
        ->type_name("N")
        ->between(1, 4096);
    command.options()
        .add_option("--local", options->local, "compare with a copy in DIR, as on a node's own disk")
        ->type_name("DIR");
    command.options()
        .add_option("--inode-quota", options->inode_quota, "how many files you may have there")
        ->type_name("N");
    add_threads(command, options->threads, "threads that scan");
    command.options()
        .add_option("--rate", options->rate,
                    "at most N calls to the file system a second while the tree is read; 0: no limit")
        ->type_name("N");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run(context, *options); });
}

}  // namespace belay::cli
