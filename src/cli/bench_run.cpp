// belay bench run: becomes the training program, which is apart because it loads libtorch.
#include "bench/parallel/instances.h"
#include "cli/commands.h"
#include "cli/libexec.h"
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace belay::cli {

namespace {

struct BenchRunOptions {
    std::vector<std::string> words;
    int instances = 0;
    std::string results = ".";
    bool dry_run = false;
};

// Only returns where the program could not be started.
core::Result<int> become_training(const std::filesystem::path& program, std::vector<std::string>& words) {
    std::vector<char*> arguments{const_cast<char*>(program.c_str())};
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    return core::errno_error(errno, fmt::format("cannot start {}", program.string()));
}

// Takes "--instances N", also as one word, from behind the model, where one expects to write it.
core::Result<> take_instances(BenchRunOptions& options) {
    constexpr std::string_view kName = "--instances";
    auto& words = options.words;
    for (auto it = words.begin(); it != words.end(); ++it) {
        const bool apart = *it == kName && it + 1 != words.end();
        if (!apart && !it->starts_with(std::string(kName) + "=")) continue;
        const std::string text = apart ? *(it + 1) : it->substr(kName.size() + 1);
        const auto number = core::parse_number<int>(text);
        if (!number || *number < 1)
            return core::bad_input("--instances {}: is not a whole number from 1 on", text);
        options.instances = *number;
        words.erase(it, it + (apart ? 2 : 1));
        return {};
    }
    return {};
}

// Starts all of them at once and waits; the worst exit status.
core::Result<int> run_instances(const BenchRunOptions& options, const std::filesystem::path& program,
                                const core::CommandContext& context) {
    std::vector<std::string> training = {program.string()};
    training.insert(training.end(), options.words.begin(), options.words.end());
    BELAY_TRY(instances, bench::plan_instances(core::current_environment(), options.instances,
                                               options.results, training));
    for (const bench::Instance& instance : instances)
        context.print("{}\n", core::quote_command(instance.argv));
    std::fflush(context.out());
    if (options.dry_run) return 0;
    BELAY_CHECK(core::make_directories(options.results));
    std::vector<core::Process> running;
    for (const bench::Instance& instance : instances) {
        BELAY_TRY(process, core::spawn({.argv = instance.argv}));
        running.push_back(std::move(process));
    }
    int worst = 0;
    for (size_t i = 0; i < running.size(); ++i) {
        BELAY_TRY(status, running[i].wait());
        context.print("{}: {}\n", instances[i].output.string(),
                      status.success() ? "done" : status.describe());
        worst = std::max(worst, status.shell_status());
    }
    return worst;
}

}  // namespace

void add_bench_run(core::Application& application) {
    auto command = application.add({
        .name = "bench run",
        .summary = "train one of the MLPerf HPC models",
        .description =
            "Trains MODEL to its target and prints MLLOG lines. Start one task per rank with srun "
            "(or torchrun's variables); ranks find each other from Slurm's environment. MODEL is "
            "cosmoflow, deepcam or oc20. Its options: belay bench run cosmoflow --help. With "
            "--instances, within an allocation and outside of srun, it starts so many trainings at "
            "once, each as a step of its own with a seed of its own, which share nodes and tasks evenly.",
        .examples = {{"srun -N2 --ntasks-per-node=2 belay bench run cosmoflow --seed 1",
                      "time to train: the mini profile on four ranks"},
                     {"salloc -N4 -n8 belay bench run --instances 4 --results logs cosmoflow",
                      "throughput: four trainings side by side, logs/result_0.txt to result_3.txt"}},
        .exit_statuses = {{1, "the target was not reached, or the training diverged"}},
        .bounds_own_waits = true,
    });
    auto options = std::make_shared<BenchRunOptions>();
    command.options()
        .add_option("--instances", options->instances, "train so many at once, and wait for all")
        ->between(1, 1 << 20)
        ->type_name("N");
    command.options()
        .add_option("--results", options->results, "directory for the logs of the instances")
        ->type_name("DIR");
    command.options().add_flag("--dry-run", options->dry_run, "print what --instances would start, and end");
    command.passthrough("MODEL", options->words, "the model, then its options");
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(program, libexec_program("belay-train"));
        BELAY_CHECK(take_instances(*options));
        if (options->instances > 0) return run_instances(*options, program, context);
        return become_training(program, options->words);
    });
}

}  // namespace belay::cli
