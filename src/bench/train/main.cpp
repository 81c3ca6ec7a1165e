// belay-train MODEL [options]: one rank of a training run. `belay bench run MODEL` starts it.
#include "bench/models/cosmoflow/profile.h"
#include "bench/parallel/rendezvous.h"
#include "bench/parallel/world.h"
#include "bench/train/group.h"
#include "bench/train/mllog_output.h"
#include "bench/train/trainer.h"
#include "core/error.h"
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace belay::bench {
namespace {

using core::bad_input;
using core::Result;

// What was written on the command line; nothing where the profile decides.
struct Arguments {
    std::string profile = "mini";
    uint64_t seed = 1, data_seed = 1;
    std::optional<int> epochs, batch, train_samples, eval_samples, threads;
    std::optional<double> target;
    int64_t steps = 0, log_steps = 0, fail_at_step = 0;
    int fail_rank = 0;
    std::string rendezvous, weights_out, summary;
    double timeout_seconds = 300, grace_seconds = 5;
};

void declare_options(CLI::App& model, Arguments& arguments) {
    auto positive = CLI::Range(1, 1 << 30);
    auto duration = CLI::Range(0.0, 1e6);
    model.add_option("--profile", arguments.profile,
                     "mini (minutes on a CPU) or full (the MLPerf HPC reference)");
    model.add_option("--seed", arguments.seed, "of the weights and the order of samples");
    model.add_option("--data-seed", arguments.data_seed, "of the synthetic universes");
    model.add_option("--epochs", arguments.epochs, "give up after so many")->check(positive);
    model.add_option("--steps", arguments.steps, "end after so many steps, without evaluation")
        ->check(positive);
    model.add_option("--target", arguments.target, "mean absolute error to reach on the held-out universes");
    model.add_option("--batch", arguments.batch, "samples per step, over all ranks")->check(positive);
    model.add_option("--train-samples", arguments.train_samples, "universes to learn from")->check(positive);
    model.add_option("--eval-samples", arguments.eval_samples, "held-out universes")->check(positive);
    model.add_option("--threads", arguments.threads, "of this rank; mini: 1, full: the CPUs of this rank")
        ->check(positive);
    model
        .add_option("--log-steps", arguments.log_steps,
                    "steps between two lines of statistics; default: a second")
        ->check(positive);
    model.add_option("--rendezvous", arguments.rendezvous, "tcp (default), or file:PATH that all ranks see");
    model.add_option("--timeout", arguments.timeout_seconds, "seconds to wait for another rank")
        ->check(duration);
    model.add_option("--weights-out", arguments.weights_out, "file for the weights, raw float32");
    model.add_option("--summary", arguments.summary, "file for the outcome, JSON");
    model.add_option("--fail-at-step", arguments.fail_at_step, "for tests: one rank fails before this step")
        ->check(positive)
        ->group("For tests");
    model.add_option("--fail-rank", arguments.fail_rank, "for tests: the rank that fails")
        ->group("For tests");
    model
        .add_option("--peer-grace", arguments.grace_seconds,
                    "for tests: seconds before a lost rank is reported")
        ->check(duration)
        ->group("For tests");
}

// The CPUs this rank may use, if the ranks of a node share what they may use.
int cpus_of_rank(const World& world) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    // srun binds each task to its own CPUs where the site says so; else all tasks see all of them.
    int cpus = CPU_COUNT(&set);
    if (auto per_task = core::environment_variable("SLURM_CPUS_PER_TASK"))
        if (auto number = core::parse_number<int>(*per_task)) return std::clamp(*number, 1, cpus);
    return std::max(1, cpus / world.local_size);
}

Result<cosmoflow::RunOptions> run_options(const Arguments& arguments, const World& world) {
    BELAY_TRY(profile, cosmoflow::profile_named(arguments.profile));
    cosmoflow::RunOptions options{.profile = profile};
    options.profile.batch = arguments.batch.value_or(profile.batch);
    options.profile.train_samples = arguments.train_samples.value_or(profile.train_samples);
    options.profile.eval_samples = arguments.eval_samples.value_or(profile.eval_samples);
    options.profile.maximum_epochs = arguments.epochs.value_or(profile.maximum_epochs);
    options.profile.target = arguments.target.value_or(profile.target);
    options.seed = arguments.seed;
    options.data_seed = arguments.data_seed;
    options.threads = arguments.threads.value_or(profile.name == "mini" ? 1 : cpus_of_rank(world));
    options.steps = arguments.steps;
    options.log_steps = arguments.log_steps;
    options.weights_out = arguments.weights_out;
    options.fail_at_step = arguments.fail_at_step;
    options.fail_rank = arguments.fail_rank;
    return options;
}

Result<> write_summary(const std::string& path, const cosmoflow::Outcome& outcome, const World& world,
                       uint64_t seed) {
    nlohmann::ordered_json summary = {
        {"target_reached", outcome.target_reached},
        {"epochs", outcome.epochs},
        {"metric",
         std::isnan(outcome.metric) ? nlohmann::ordered_json() : nlohmann::ordered_json(outcome.metric)},
        {"seconds", outcome.seconds},
        {"ranks", world.size},
        {"nodes", world.nodes},
        {"seed", seed},
        {"weights_digest", outcome.weights_digest},
        {"samples_per_second", outcome.samples_per_second}};
    return core::replace_file(path, summary.dump() + "\n");
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// Errors: also kNegative if the target was not reached.
Result<> train(const Arguments& arguments) {
    core::Environment environment = core::current_environment();
    BELAY_TRY(world, world_from(environment));
    BELAY_TRY(options, run_options(arguments, world));
    Group group;
    if (world.size > 1) {
        BELAY_TRY(rendezvous, find_rendezvous(world, environment, arguments.rendezvous, system_lookup()));
        BELAY_TRY(connected, Group::connect(world, rendezvous,
                                            {.timeout = milliseconds(arguments.timeout_seconds),
                                             .grace = milliseconds(arguments.grace_seconds)}));
        group = std::move(connected);
    }
    MllogOutput log(world.rank == 0 ? STDOUT_FILENO : -1, core::system_clock());
    BELAY_TRY(outcome, cosmoflow::run_training(options, group, world.nodes, log, core::system_clock()));
    if (!arguments.summary.empty() && world.rank == 0)
        BELAY_CHECK(write_summary(arguments.summary, outcome, world, arguments.seed));
    if (!outcome.target_reached && arguments.steps == 0)
        return core::negative(
            "the target was not reached: mean absolute error {:.4f} after {} epochs, wanted {}",
            outcome.metric, outcome.epochs, options.profile.target);
    return {};
}

// An unknown option with the nearest known one.
core::Error wrong_usage(const CLI::App& model, const CLI::ParseError& error) {
    std::vector<std::string> names;
    for (const CLI::Option* option : model.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    std::vector<std::string_view> candidates(names.begin(), names.end());
    for (const std::string& word : model.remaining(true)) {
        auto option = std::string_view(word).substr(0, word.find('='));
        auto meant = core::nearest(option, candidates);
        return bad_input("unknown argument \"{}\"", option)
            .hint(meant ? fmt::format("did you mean {}?", *meant)
                        : "belay-train cosmoflow --help lists them all")
            .error();
    }
    return bad_input("{}", error.what()).hint("belay-train --help").error();
}

int report(const core::Error& error) {
    std::fputs(error.render("belay-train").c_str(), stderr);
    return error.exit_status();
}

int run(int argc, char** argv) {
    Arguments arguments;
    CLI::App app(
        "Trains one of the MLPerf HPC models, data-parallel over the ranks of a Slurm step or of torchrun.",
        "belay-train");
    app.require_subcommand(1);
    CLI::App* model =
        app.add_subcommand("cosmoflow", "cosmological parameters from the distribution of matter");
    declare_options(*model, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        return report(wrong_usage(model->parsed() ? *model : app, error));
    }
    try {
        if (auto done = train(arguments); !done) {
            // Not by way of destructors: those of the group may wait for ranks that will not answer.
            int status = report(done.error());
            std::fflush(nullptr);
            std::_Exit(status);
        }
    } catch (const std::exception& exception) {  // libtorch's, and memory that ran out
        std::fprintf(stderr, "belay-train: %s\n", exception.what());
        std::fflush(nullptr);
        std::_Exit(3);
    }
    return 0;
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
    return belay::bench::run(argc, argv);
}
