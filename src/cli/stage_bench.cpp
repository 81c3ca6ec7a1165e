// belay stage bench: how fast a file system is for what training does.
#include "cli/commands.h"
#include "cli/step_members.h"
#include "cli/text_table.h"
#include "core/file.h"
#include "core/process.h"
#include "core/progress_display.h"
#include "core/stop_on_signal.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/bench/bench.h"
#include "stage/bench/bench_plan.h"
#include "stage/bench/nodes.h"
#include "stage/bench/together.h"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct StageBenchOptions {
    std::string directory;
    std::string direct = "auto";
    std::string accelerator = "h100";
    std::string compare;
    double tolerance = 0.1;
    stage::BenchOptions bench;
    core::ByteSize size, block, random_block, file_size;
    std::string data;
    stage::GivenTraining given;
    bool json = false;
};

std::string rate_text(const stage::BenchResult& result) {
    if (!std::isfinite(result.value)) return "unknown";
    return result.unit == "bytes/s" ? core::format_bytes_per_second(result.value)
                                    : fmt::format("{:.0f} /s", result.value);
}

std::string latency_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    return core::format_duration(core::Duration(static_cast<int64_t>(seconds * 1e9)));
}

void print_bench_report(const core::CommandContext& context, const stage::BenchReport& report,
                        const std::vector<std::string>& commands) {
    context.print("{} ({}), {}{}\n", core::printable(report.directory), report.file_system,
                  core::format_count(report.options.threads, "thread"),
                  report.options.nodes > 1 ? fmt::format(" on each of {} nodes", report.options.nodes) : "");
    std::vector<std::vector<std::string>> rows;
    for (const stage::BenchResult& result : report.results)
        rows.push_back({result.name, rate_text(result), latency_text(result.latency.p50),
                        latency_text(result.latency.p99), latency_text(result.latency.longest),
                        latency_text(result.first_done_seconds), latency_text(result.seconds), result.cache});
    if (!rows.empty())
        context.print("\n{}", render_table({"", "rate", "median", "99 %", "longest", "first done",
                                            "last done", "page cache"},
                                           rows));
    rows.clear();
    for (const stage::EmulationResult& result : report.emulations)
        rows.push_back({core::printable(result.model),
                        result.accelerator.empty()
                            ? std::to_string(result.accelerators)
                            : fmt::format("{} {}", result.accelerators, result.accelerator),
                        result.utilisation ? fmt::format("{:.1f} %", 100 * result.utilisation->share) : "-",
                        result.pass_share ? fmt::format("{:.0f} %", 100 * *result.pass_share) : "-",
                        result.utilisation && result.pass_share ? (result.passes() ? "pass" : "fail") : "-",
                        fmt::format("{:.1f} /s", result.samples_per_second),
                        core::format_bytes_per_second(result.bytes_per_second), result.cache});
    if (!rows.empty())
        context.print("\n{}", render_table({"training", "accelerators", "utilisation", "needed", "",
                                            "samples", "bytes", "page cache"},
                                           rows));
    for (const std::string& note : report.notes) context.print("note: {}\n", note);
    if (!commands.empty()) context.print("\nthe same by other programs that are installed here:\n");
    for (const std::string& command : commands) context.print("  {}\n", core::printable(command));
}

bool is_slower_than_before(const stage::BenchChange& change, double tolerance) {
    return change.after < (1 - tolerance) * change.before;
}

void print_bench_comparison(const core::CommandContext& context, const stage::BenchComparison& comparison,
                            const StageBenchOptions& options) {
    const bool is_judged = comparison.differences.empty();
    std::vector<std::vector<std::string>> rows;
    for (const stage::BenchChange& change : comparison.changes)
        rows.push_back({change.name, fmt::format("{:.4g}", change.before),
                        fmt::format("{:.4g}", change.after), fmt::format("{:.2f}", change.ratio()),
                        is_judged && is_slower_than_before(change, options.tolerance) ? "slower" : ""});
    context.print("\n{}", render_table({"against " + options.compare, "then", "now", "ratio", ""}, rows));
    if (is_judged)
        context.print("slower: by more than {:g} % (--tolerance)\n", 100 * options.tolerance);
    else
        context.print("not judged, because they are not measured alike\n");
    for (const std::string& difference : comparison.differences)
        context.print("note: measured differently: {}\n", core::printable(difference));
}

nlohmann::ordered_json comparison_json(const stage::BenchComparison& comparison, bool is_slower) {
    nlohmann::ordered_json changes = nlohmann::ordered_json::array();
    for (const stage::BenchChange& change : comparison.changes)
        changes.push_back({{"name", change.name},
                           {"before", change.before},
                           {"after", change.after},
                           {"ratio", change.ratio()}});
    return {{"changes", changes},
            {"differences", comparison.differences},
            {"slower",
             comparison.differences.empty() ? nlohmann::ordered_json(is_slower) : nlohmann::ordered_json()}};
}

stage::DirectMode direct_mode(std::string_view name) {
    return name == "never"    ? stage::DirectMode::kNever
           : name == "always" ? stage::DirectMode::kAlways
                              : stage::DirectMode::kAuto;
}

// By rank; the first is this node's own.
Result<stage::BenchReport> add_up(const stage::BenchReport& own, std::span<const std::string> sent,
                                  std::span<const std::string> nodes) {
    std::vector<stage::BenchReport> reports = {own};
    for (size_t rank = 1; rank < sent.size(); ++rank) {
        BELAY_TRY(report,
                  core::with_context(stage::results_from_json(sent[rank]), core::printable(nodes[rank])));
        reports.push_back(std::move(report));
    }
    return stage::together(reports, nodes);
}

Result<int> run_stage_bench(const core::CommandContext& context, const StageBenchOptions& options) {
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        return core::bad_input("--tolerance {:g}: is not a share of 1", options.tolerance)
            .hint("write 0.1 for a tenth");
    std::string baseline;
    if (!options.directory.empty() && !options.data.empty())
        return core::bad_input("DIR and --data are both given")
            .hint("leave DIR out: a training is emulated on its own data");
    if (options.directory.empty() && options.data.empty())
        return core::bad_input("neither DIR nor --data is given")
            .hint("name a directory on the file system that is to be measured");
    if (!options.compare.empty()) {  // before anything is measured
        BELAY_TRY(text, core::read_file(options.compare, size_t{16} << 20));
        BELAY_CHECK(stage::parse_baseline(text, options.compare));
        baseline = std::move(text);
    }
    stage::BenchOptions wanted = options.bench;
    wanted.bytes = options.size.bytes;
    wanted.block_bytes = options.block.bytes;
    wanted.random_bytes = options.random_block.bytes;
    wanted.file_bytes = options.file_size.bytes;
    wanted.direct = direct_mode(options.direct);
    wanted.a100 = options.accelerator == "a100";
    if (!options.data.empty()) {
        wanted.given = options.given;
        wanted.given->data = options.data;
    }
    BELAY_TRY(place, find_members(context, "this benchmark"));
    if (place.other_task) return several_tasks("stage bench");
    std::unique_ptr<stage::BenchNodes> nodes;
    if (place.step && place.step->nodes.size() > 1) {
        BELAY_TRY(met, stage::BenchNodes::open(*place.step));
        nodes = std::move(met);
        wanted.nodes = place.step->nodes.size();
        wanted.rank = place.step->rank;
        wanted.meet = [&](std::string_view part) { return nodes->meet(part); };
    }
    const bool speaks = !nodes || place.step->rank == 0;
    core::ProgressDisplay display(core::system_clock());
    if (speaks)
        wanted.progress = [&](std::string_view phase) {
            display.finish();
            display.start(phase, core::ProgressUnit::items("operations"));
            display.update(0);
        };
    const core::StopOnSignal stop;
    wanted.stop = stop.flag();
    auto measured = stage::run_bench(options.directory, wanted);
    display.finish();
    if (!measured) return std::unexpected(std::move(measured.error()));
    if (nodes) {
        BELAY_TRY(all, nodes->gather(to_json(*measured).dump()));
        if (!speaks) return 0;
        BELAY_TRY(sum, add_up(*measured, all, place.step->nodes));
        measured = std::move(sum);
    }
    const auto commands = stage::equal_commands(*measured, core::find_program("elbencho").has_value(),
                                                core::find_program("dlio_benchmark").has_value());
    std::optional<stage::BenchComparison> comparison;
    bool is_slower = false;
    if (!options.compare.empty()) {
        BELAY_TRY(compared, stage::compare_with_baseline(*measured, baseline, options.compare));
        comparison = std::move(compared);
        // Of unequal work nothing is slower or faster.
        if (comparison->differences.empty())
            for (const stage::BenchChange& change : comparison->changes)
                is_slower = is_slower || is_slower_than_before(change, options.tolerance);
    }
    if (options.json) {
        auto json = to_json(*measured);
        json["equal_commands"] = commands;
        if (comparison) json["comparison"] = comparison_json(*comparison, is_slower);
        context.print_json(json);
    } else {
        print_bench_report(context, *measured, commands);
        if (comparison) print_bench_comparison(context, *comparison, options);
    }
    return is_slower ? 1 : 0;
}

}  // namespace

void add_stage_bench(core::Application& application) {
    auto command = application.add({
        .name = "stage bench",
        .summary = "measure a file system as training uses it",
        .description =
            "Writes and reads in order and at random, makes and finds files, reads many files and "
            "the records of a shard, writes and reads checkpoints, and feeds "
            "emulated accelerators as U-Net3D, ResNet-50 and CosmoFlow do in MLPerf Storage v2: "
            "what share of the time they compute, and whether that is enough.\n\n"
            "Reads go past the page cache where the file system has O_DIRECT; else the cache is "
            "dropped as far as that is possible, and the report says how much "
            "stayed. Everything happens in a directory of its own beneath DIR, which is removed "
            "at the end. In a step with one task on each node, all nodes begin each part together, "
            "each with its own files: amounts are added up, over the time until the last node is done.\n\n"
            "With --data, a training of your own is emulated instead: it reads packed data at random, with "
            "the batch, "
            "the workers and the compute time of a step that you state, and nothing is written. The time of "
            "a step "
            "is what training takes with data in memory.\n\n"
            "With --compare the results are set against an earlier report of --json, and the exit "
            "status is 1 if anything is slower.",
        .examples =
            {{"belay stage bench /scratch --json > before.json", "a report to compare with"},
             {"srun -N 16 --ntasks-per-node=1 belay stage bench /scratch", "sixteen nodes at once"},
             {"belay stage bench /scratch --compare before.json", "what changed since"},
             {"belay stage bench /scratch --test training --model unet3d --accelerators 4 --size 100GB",
              "whether it feeds four H100"},
             {"belay stage bench --data /scratch/train --compute-seconds 0.25 --batch 32 --workers 8",
              "how much of the time your own training would compute"}},
        .exit_statuses = {{1, "something is slower than in the report of --compare"}},
        .ends_in_order = true,
    });
    auto options = std::make_shared<StageBenchOptions>();
    stage::BenchOptions& bench = options->bench;
    options->size.bytes = bench.bytes;
    options->block.bytes = bench.block_bytes;
    options->random_block.bytes = bench.random_bytes;
    options->file_size.bytes = bench.file_bytes;
    command.options().add_option("DIR", options->directory, "a directory on the file system");
    command.options()
        .add_option("--test", bench.tests,
                    "only this one: sequential, random, metadata, files, shard, checkpoint, training")
        ->type_name("NAME");
    command.size("--size", options->size,
                 "bytes of large files, of all threads together, and of data for training");
    command.options().add_option("--threads", bench.threads, "threads that read and write")->type_name("N");
    command.size("--block", options->block, "bytes of one read or write in order");
    command.size("--random-block", options->random_block, "bytes of one read at random");
    command.options().add_option("--operations", bench.operations, "reads at random")->type_name("N");
    command.options()
        .add_option("--files", bench.files, "files to make, and records of a shard")
        ->type_name("N");
    command.size("--file-size", options->file_size, "bytes of each of these");
    command.choice("--direct", options->direct, {"auto", "never", "always"},
                   "whether to go past the page cache with O_DIRECT");
    command.options()
        .add_option("--model", bench.models, "emulate the training of this one: unet3d, resnet50, cosmoflow")
        ->type_name("NAME");
    command.choice("--accelerator", options->accelerator, {"h100", "a100"}, "the accelerator to emulate");
    command.options()
        .add_option("--accelerators", bench.accelerators, "how many accelerators to emulate")
        ->type_name("N");
    command.options()
        .add_option("--steps", bench.steps, "steps of an epoch (default: what suits the model)")
        ->type_name("N");
    command.options().add_option("--epochs", bench.epochs, "epochs")->type_name("N");
    stage::GivenTraining& given = options->given;
    auto* data = command.options()
                     .add_option("--data", options->data,
                                 "instead of all tests, emulate a training that reads these packed data")
                     ->type_name("DIR");
    command.options()
        .add_option("--compute-seconds", given.compute_seconds,
                    "how long a step of that training computes; 0: the data are read as fast as possible")
        ->type_name("SECONDS")
        ->needs(data);
    command.options()
        .add_option("--batch", given.batch, "samples of a step on one accelerator")
        ->type_name("N")
        ->needs(data);
    command.options()
        .add_option(
            "--workers", given.workers,
            "threads that read for each accelerator; 0: the training reads by itself, between two steps")
        ->type_name("N")
        ->needs(data);
    command.options()
        .add_option("--prefetch", given.prefetch, "batches that each worker has ready")
        ->type_name("N")
        ->needs(data);
    command.options()
        .add_option("--compare", options->compare, "an earlier report of --json")
        ->type_name("FILE");
    command.options()
        .add_option("--tolerance", options->tolerance, "share by which a result may be slower than that")
        ->type_name("SHARE");
    command.json(options->json);
    command.run(
        [options](const core::CommandContext& context) { return run_stage_bench(context, *options); });
}

}  // namespace belay::cli
