// belay-all-reduce: one rank of a measurement of what the network between the ranks of a step gives, and, with
// --machine, of what else they share. `belay bench roofline --measure` starts it; rank 0 prints one JSON value.
#include "bench/parallel/rendezvous.h"
#include "bench/parallel/world.h"
#include "bench/roofline/machine_json.h"
#include "bench/roofline/measure.h"
#include "bench/train/cpu_share.h"
#include "bench/train/group.h"
#include "core/command.h"
#include "core/program.h"
#include "core/text.h"
#include "core/units.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sched.h>

#include <nlohmann/json.hpp>

namespace belay::bench::roofline {
namespace {

using core::Result;
using Clock = std::chrono::steady_clock;

struct Arguments {
    core::ByteSize size{uint64_t{25} << 20};
    int repeats = 20;
    bool machine = false;
    std::string data, rendezvous;
    core::Duration timeout = std::chrono::minutes(2), grace = std::chrono::seconds(5);
};

constexpr uint64_t kMostBytes = uint64_t{16} << 30;
constexpr int kWarmUp = 2;  // the first operations open connections

void declare(core::CommandDeclaration& command, Arguments& arguments) {
    command.size("--size", arguments.size,
                 "what each rank gives to the sum, in float32: the model's parameters");
    command.options()
        .add_option("--repeats", arguments.repeats, "all-reduces that are timed")
        ->between(1, 100'000)
        ->type_name("N");
    command.options().add_flag(
        "--machine", arguments.machine,
        "measure a matrix product, memory and, with --data, reading as well, by all ranks at once");
    command.options()
        .add_option("--data", arguments.data,
                    "the directory of the training data: each rank reads other files")
        ->type_name("DIR");
    command.options()
        .add_option("--rendezvous", arguments.rendezvous,
                    "where ranks meet: tcp, or file:PATH that all of them see")
        ->type_name("WHERE");
    command.duration("--timeout", arguments.timeout, "how long to wait for another rank");
    command.duration("--peer-grace", arguments.grace,
                     "for tests: how long a rank waits before it reports a lost one");
}

// Seconds of one all-reduce, of the slowest rank, sorted. Errors: also kSystem for a sum that is wrong.
Result<std::vector<double>> time_sums(Group& group, std::vector<float>& values, int repeats) {
    std::vector<double> seconds;
    for (int i = -kWarmUp; i < repeats; ++i) {
        std::ranges::fill(values, 1.0F);
        BELAY_CHECK(group.barrier());
        const auto begin = Clock::now();
        BELAY_CHECK(group.sum(std::span(values)));
        const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
        if (std::ranges::any_of(values, [&](float sum) { return sum != static_cast<float>(group.size()); }))
            return core::system_error("rank {}: the all-reduce gave a wrong sum", group.rank());
        BELAY_TRY(all, group.gather(static_cast<uint64_t>(std::max<int64_t>(took, 1))));
        if (i >= 0) seconds.push_back(1e-9 * static_cast<double>(std::ranges::max(all)));
    }
    std::ranges::sort(seconds);
    return seconds;
}

Result<> measure_network(Group& group, const Arguments& arguments, MeasuredMachine& measured) {
    Number& rate = measured.machine.rate(Resource::kNetwork);
    if (group.size() == 1) {
        rate.source = "one rank has no network";
        return {};
    }
    std::vector<float> values(std::max<size_t>(arguments.size.bytes / sizeof(float), 1));
    BELAY_TRY(seconds, time_sums(group, values, arguments.repeats));
    const AllReduce done{.bytes = values.size() * sizeof(float),
                         .repeats = arguments.repeats,
                         .seconds = seconds.front(),
                         .median_seconds = seconds[seconds.size() / 2]};
    rate = {.value = bus_bandwidth(static_cast<double>(done.bytes), done.seconds, group.size()),
            .source = fmt::format("all-reduce of {} by Gloo, {} on {}", core::format_decimal({done.bytes}),
                                  core::format_count(static_cast<uint64_t>(group.size()), "rank"),
                                  core::format_count(static_cast<uint64_t>(measured.nodes), "node"))};
    measured.all_reduce = done;
    return {};
}

// This process on its part of the CPUs, where the launcher has not bound it.
Result<int> take_cpus(Group& group) {
    BELAY_TRY(share, cpu_share(group));
    int per_rank = 0;
    if (auto text = core::environment_variable("SLURM_CPUS_PER_TASK"))
        per_rank = core::parse_number<int>(*text).value_or(0);
    const auto mine = cpus_of_rank(share.usable, share.with.number, share.with.ranks, per_rank);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : mine)
        if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return core::errno_error(errno, "cannot choose CPUs");
    return static_cast<int>(mine.size());
}

// Of all ranks: rates travel as whole numbers, senses as their place in the enumeration.
Result<Number> slowest(Group& group, const Number& mine) {
    BELAY_TRY(values, group.gather(static_cast<uint64_t>(std::llround(mine.value.value_or(0)))));
    BELAY_TRY(senses, group.gather(static_cast<uint64_t>(mine.sense)));
    std::vector<Number> all;
    for (size_t rank = 0; rank < values.size(); ++rank) {
        if (senses[rank] > static_cast<uint64_t>(Sense::kAtMost))
            return core::system_error("rank {} says a sense that does not exist", rank);
        all.push_back({.sense = static_cast<Sense>(senses[rank]), .source = mine.source});
        if (values[rank] > 0) all.back().value = static_cast<double>(values[rank]);
    }
    return slowest_of(all);
}

Result<> measure_rest(Group& group, const World& world, const Arguments& arguments,
                      MeasuredMachine& measured) {
    BELAY_TRY(threads, take_cpus(group));
    MeasureOptions options{.threads = threads, .meet = [&] { return group.barrier(); }};
    if (!arguments.data.empty()) options.data = arguments.data;
    options.reading.part = static_cast<size_t>(world.rank);
    options.reading.parts = static_cast<size_t>(world.size);
    BELAY_TRY(here, measure_machine(options));
    measured.threads = here.threads;
    for (const Resource resource : {Resource::kCompute, Resource::kMemory, Resource::kIo}) {
        BELAY_TRY(rate, slowest(group, here.machine.rate(resource)));
        if (rate.value && group.size() > 1)
            rate.source += fmt::format(", by {} ranks at once, the slowest", group.size());
        measured.machine.rate(resource) = std::move(rate);
    }
    return {};
}

Result<> run(const Arguments& arguments) {
    using std::chrono::duration_cast, std::chrono::milliseconds;
    if (arguments.size.bytes < sizeof(float) || arguments.size.bytes > kMostBytes)
        return core::bad_input("--size {}: must be 4B to 16GiB", core::to_text(arguments.size));
    const core::Environment environment = core::current_environment();
    BELAY_TRY(world, world_from(environment));
    BELAY_CHECK(check_rendezvous_choice(arguments.rendezvous));
    // On the heap and never freed when something fails: its end may wait for ranks that will not answer.
    auto group = std::make_unique<Group>();
    if (world.size > 1) {
        BELAY_TRY(rendezvous, find_rendezvous(world, environment, arguments.rendezvous, system_lookup()));
        BELAY_TRY(connected, Group::connect(world, rendezvous,
                                            {.timeout = duration_cast<milliseconds>(arguments.timeout),
                                             .grace = duration_cast<milliseconds>(arguments.grace),
                                             .introduction = introduction_from(environment)}));
        *group = std::move(connected);
    }
    MeasuredMachine measured{.ranks = world.size, .nodes = world.nodes};
    auto done = measure_network(*group, arguments, measured);
    if (done && arguments.machine) done = measure_rest(*group, world, arguments, measured);
    if (!done) {
        [[maybe_unused]] const Group* left = group.release();
        return done;
    }
    if (world.rank == 0) fmt::print("{}\n", to_json(measured).dump());
    return {};
}

}  // namespace
}  // namespace belay::bench::roofline

int main(int argc, char** argv) {
    namespace roofline = belay::bench::roofline;
    belay::core::Application application(
        {.name = "belay-all-reduce",
         .summary = "measure an all-reduce over the ranks of a step",
         .description =
             "One rank. Rank, size and the address of rank 0 come from Slurm, or from RANK, WORLD_SIZE, "
             "MASTER_ADDR and MASTER_PORT. Rank 0 prints what was measured as JSON; \"belay bench roofline "
             "--measure\" starts it and reads that.",
         .version = BELAY_VERSION});
    auto command = application.add({.name = "", .summary = "measure an all-reduce over the ranks of a step"});
    auto arguments = std::make_shared<roofline::Arguments>();
    roofline::declare(command, *arguments);
    command.run([arguments](const belay::core::CommandContext&) -> belay::core::Result<int> {
        const auto done = roofline::run(*arguments);
        const int status = done ? 0 : belay::core::show_error("belay-all-reduce", done.error());
        std::fflush(nullptr);
        std::_Exit(status);  // not by way of the destructors of libtorch's threads
    });
    return application.run(argc, argv);
}
