#include "cli/bench_roofline_measure.h"

#include "bench/parallel/world.h"
#include "bench/roofline/measure.h"
#include "cli/libexec.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/process.h"
#include "core/text.h"

#include <chrono>
#include <mutex>

namespace belay::cli {

namespace {

using bench::roofline::MeasuredMachine;
using core::Result;

constexpr core::Duration kMeasuringTime = std::chrono::minutes(5);
// More processes than this on one machine say nothing of ranks on others.
constexpr int kMostRanksHere = 64;

constexpr std::string_view kAllReduce = "belay-all-reduce";

core::Command rank_command(const std::filesystem::path& program, const RooflineMeasuring& wanted) {
    core::Command command{.argv = {program.string(), "--machine"}};
    if (wanted.all_reduce_bytes > 0)
        command.argv.insert(command.argv.end(), {"--size", fmt::format("{}B", wanted.all_reduce_bytes)});
    if (!wanted.data.empty()) command.argv.insert(command.argv.end(), {"--data", wanted.data.string()});
    return command;
}

Result<MeasuredMachine> measured_by(const std::string& output) {
    return bench::roofline::parse_machine(output, "what belay-all-reduce printed");
}

// One process for each rank, on this machine.
Result<MeasuredMachine> measure_ranks_here(const RooflineMeasuring& wanted) {
    BELAY_TRY(program, libexec_program(kAllReduce));
    BELAY_TRY(directory, core::TemporaryDirectory::create("belay-roofline"));
    core::Command command = rank_command(program, wanted);
    command.argv.insert(command.argv.end(),
                        {"--rendezvous", fmt::format("file:{}", (directory.path() / "ranks").string())});
    std::string output;
    std::mutex mutex;
    const auto count = static_cast<size_t>(wanted.ranks);
    BELAY_CHECK(core::in_parallel(count, count, [&](size_t rank) -> Result<> {
        core::Command mine = command;
        mine.environment_changes = {{"RANK", std::to_string(rank)},
                                    {"WORLD_SIZE", std::to_string(count)},
                                    {"LOCAL_RANK", std::to_string(rank)},
                                    {"LOCAL_WORLD_SIZE", std::to_string(count)},
                                    {"MASTER_ADDR", "127.0.0.1"}};
        BELAY_TRY(printed, core::output_of(std::move(mine), {.timeout = kMeasuringTime}));
        const std::lock_guard lock(mutex);
        if (rank == 0) output = std::move(printed);
        return {};
    }));
    return measured_by(output);
}

Result<MeasuredMachine> measure_alone(const RooflineMeasuring& wanted) {
    bench::roofline::MeasureOptions options;
    if (!wanted.data.empty()) options.data = wanted.data;
    BELAY_TRY(here, bench::roofline::measure_machine(options));
    return MeasuredMachine{.machine = std::move(here.machine), .threads = here.threads};
}

}  // namespace

Result<std::optional<MeasuredMachine>> measure_for_roofline(const RooflineMeasuring& wanted) {
    const auto some = [](Result<MeasuredMachine> measured) -> Result<std::optional<MeasuredMachine>> {
        if (!measured) return std::unexpected(std::move(measured.error()));
        return std::optional(std::move(*measured));
    };
    BELAY_TRY(world, bench::world_from(core::current_environment()));
    if (world.size > 1) {
        BELAY_TRY(program, libexec_program(kAllReduce));
        BELAY_TRY(output, core::output_of(rank_command(program, wanted), {.timeout = kMeasuringTime}));
        if (world.rank > 0) return std::optional<MeasuredMachine>();
        return some(measured_by(output));
    }
    if (wanted.ranks <= 1) return some(measure_alone(wanted));
    if (wanted.nodes > 1 || wanted.ranks > kMostRanksHere) {
        // What the network gives can only be seen from the nodes; the rest is the same on each.
        auto alone = measure_alone(wanted);
        if (!alone) return some(std::move(alone));
        const double ranks_of_node = static_cast<double>(wanted.ranks) / wanted.nodes;
        alone->machine = bench::roofline::shared_by(std::move(alone->machine), ranks_of_node);
        alone->ranks = wanted.ranks;
        alone->machine.rate(bench::roofline::Resource::kNetwork).source =
            fmt::format("measure it in a step: srun -N{} -n{} belay bench roofline --measure ...",
                        wanted.nodes, wanted.ranks);
        return some(std::move(alone));
    }
    return some(measure_ranks_here(wanted));
}

}  // namespace belay::cli
