#include "bench/train/command.h"

#include "bench/parallel/rendezvous.h"
#include "bench/parallel/world.h"
#include "bench/train/cpu_share.h"
#include "bench/train/group.h"
#include "bench/train/mllog_output.h"
#include "bench/train/trainer.h"
#include "core/command.h"
#include "core/error.h"
#include "core/file.h"
#include "core/output.h"
#include "core/process.h"
#include "core/program.h"
#include "core/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::bench {
namespace {

using core::Result;

// What was written on the command line; nothing where the profile decides.
struct Arguments {
    std::string profile;
    uint64_t seed = 1, data_seed = 1;
    std::optional<int> epochs, batch, train_samples, eval_samples, threads;
    std::optional<double> target;
    int64_t steps = 0, log_steps = 0, fail_at_step = 0;
    int fail_rank = 0;
    std::string data, write_data;
    std::string rendezvous, weights_out, summary;
    std::string optimizer, scaling, warmup;
    std::optional<double> rate, weight_decay;
    std::string checkpoint, stage_to;
    int64_t checkpoint_every = 0;
    bool resume = false, no_overlap = false;
    core::ByteSize bucket{kBucketBytes};
    int split = 1;
    core::Duration timeout = std::chrono::minutes(5), grace = std::chrono::seconds(5);
};

void declare_optimizer_options(core::CommandDeclaration& command, Arguments& arguments) {
    core::Options& options = command.options();
    options
        .add_option("--optimizer", arguments.optimizer,
                    "sgd, adam, adamw, lars or lamb; without: the profile's, as all of the following")
        ->type_name("NAME");
    options.add_option("--rate", arguments.rate, "learning rate of the profile's batch")->type_name("VALUE");
    options.add_option("--weight-decay", arguments.weight_decay, "of the optimizer")->type_name("VALUE");
    options
        .add_option("--scaling", arguments.scaling,
                    "how the learning rate follows --batch: linear, sqrt (of the ratio) or none")
        ->type_name("RULE");
    options.add_option("--warmup", arguments.warmup, "how long the learning rate rises: 3epochs, 400steps")
        ->type_name("TIME");
}

void declare_run_options(core::CommandDeclaration& command, Arguments& arguments) {
    core::Options& options = command.options();
    constexpr int kHighest = 1 << 30;
    options
        .add_option("--checkpoint", arguments.checkpoint,
                    "keep the state of the training in FILE, which rank 0 replaces as a whole")
        ->type_name("FILE");
    options
        .add_option("--checkpoint-every", arguments.checkpoint_every,
                    "steps between two checkpoints; without: at the end of each epoch")
        ->between(1, kHighest)
        ->type_name("N");
    options.add_flag("--resume", arguments.resume,
                     "go on from the checkpoint, or from the start where there is none");
    options
        .add_option("--stage-to", arguments.stage_to,
                    "copy --data to DIR on each node first, within the time that is measured")
        ->type_name("DIR");
    options
        .add_option("--split", arguments.split,
                    "so many neighbouring ranks share each sample, where the model can do that")
        ->between(1, 64)
        ->type_name("N");
    command.size("--bucket", arguments.bucket, "of gradients that ranks add up at once");
    options.add_flag("--no-overlap", arguments.no_overlap,
                     "add gradients up only when all of them are computed; the weights are the same");
}

void declare_options(core::CommandDeclaration& command, const KnownModel& model, Arguments& arguments) {
    core::Options& options = command.options();
    constexpr int kHighest = 1 << 30;
    arguments.profile = model.profiles.front();
    command.choice("--profile", arguments.profile, {model.profiles.begin(), model.profiles.end()},
                   std::string(model.profile_help));
    options.add_option("--seed", arguments.seed, "of the weights and of the order of samples")
        ->type_name("N");
    options.add_option("--data-seed", arguments.data_seed, "of the synthetic samples")->type_name("N");
    options
        .add_option("--data", arguments.data,
                    "read the samples from DIR, loose or packed by \"belay stage pack\", in each step")
        ->type_name("DIR");
    options
        .add_option("--write-data", arguments.write_data,
                    "write the samples of this profile into DIR and end")
        ->type_name("DIR");
    options.add_option("--epochs", arguments.epochs, "give up after so many")
        ->between(1, kHighest)
        ->type_name("N");
    options
        .add_option("--steps", arguments.steps, "end after so many steps; then the target does not matter")
        ->between(1, kHighest)
        ->type_name("N");
    options.add_option("--target", arguments.target, "value of the metric to reach on the held-out samples")
        ->type_name("VALUE");
    options.add_option("--batch", arguments.batch, "samples per step, over all ranks")
        ->between(1, kHighest)
        ->type_name("N");
    options.add_option("--train-samples", arguments.train_samples, "samples to learn from")
        ->between(1, kHighest)
        ->type_name("N");
    options.add_option("--eval-samples", arguments.eval_samples, "held-out samples")
        ->between(1, kHighest)
        ->type_name("N");
    options
        .add_option("--threads", arguments.threads,
                    "of this rank; without: what the profile says, or its share of the CPUs")
        ->between(1, kHighest)
        ->type_name("N");
    options
        .add_option("--log-steps", arguments.log_steps,
                    "steps between two tracked_stats; without: about a second")
        ->between(1, kHighest)
        ->type_name("N");
    declare_optimizer_options(command, arguments);
    declare_run_options(command, arguments);
    options
        .add_option("--rendezvous", arguments.rendezvous,
                    "where ranks meet: tcp, or file:PATH that all of them see")
        ->type_name("WHERE");
    command.duration("--timeout", arguments.timeout, "how long to wait for another rank");
    options
        .add_option("--weights-out", arguments.weights_out, "file for the weights at the end, raw float32")
        ->type_name("FILE");
    options.add_option("--summary", arguments.summary, "file for the outcome, JSON")->type_name("FILE");
    options
        .add_option("--fail-at-step", arguments.fail_at_step, "for tests: one rank fails before this step")
        ->between(1, kHighest)
        ->type_name("N");
    options.add_option("--fail-rank", arguments.fail_rank, "for tests: the rank that fails")->type_name("N");
    command.duration("--peer-grace", arguments.grace,
                     "for tests: how long a rank waits before it reports a lost one");
}

// Every rank calls it.
Result<int> usual_threads(Group& group) {
    BELAY_TRY(share, cpu_share(group));
    const auto usable = static_cast<int>(share.usable.size());
    if (auto per_task = core::environment_variable("SLURM_CPUS_PER_TASK"))
        if (auto number = core::parse_number<int>(*per_task))
            return std::clamp(*number, 1, std::max(1, usable));
    return share.threads();
}

// Before anything is computed, which would be lost.
Result<> check_outputs(const Arguments& arguments) {
    for (const auto& [option, path] :
         {std::pair("--weights-out", &arguments.weights_out), std::pair("--summary", &arguments.summary),
          std::pair("--checkpoint", &arguments.checkpoint)})
        if (!path->empty()) BELAY_CHECK(core::with_context(core::check_output(*path), option));
    return {};
}

Result<> check_numbers(const Arguments& arguments) {
    if (arguments.rate && !(*arguments.rate > 0 && std::isfinite(*arguments.rate)))
        return core::bad_input("--rate: {} is not a number above 0", *arguments.rate);
    if (arguments.weight_decay && !(*arguments.weight_decay >= 0 && std::isfinite(*arguments.weight_decay)))
        return core::bad_input("--weight-decay: {} is not a number from 0 on", *arguments.weight_decay);
    if (arguments.bucket.bytes < sizeof(float))
        return core::bad_input("--bucket: {} hold no gradient", core::to_text(arguments.bucket));
    return {};
}

// What the closed rules of deepcam want of LAMB, which is the only benchmark that has it.
constexpr double kLambGradientNorm = 1, kLambEpsilon = 1e-6;

Result<> choose_optimizer(const Arguments& arguments, Profile& profile) {
    RateSchedule& rate = profile.rate;
    OptimizerSettings& optimizer = profile.optimizer;
    if (!arguments.optimizer.empty()) {
        BELAY_TRY(method, method_named(arguments.optimizer));
        if (method == Method::kLamb && optimizer.method != method) {
            optimizer.maximum_gradient_norm = kLambGradientNorm;
            optimizer.epsilon = kLambEpsilon;
        }
        optimizer.method = method;
    }
    optimizer.weight_decay = arguments.weight_decay.value_or(optimizer.weight_decay);
    if (arguments.rate) {
        rate.warmup_rate *= rate.base_rate > 0 ? *arguments.rate / rate.base_rate : 1;
        rate.base_rate = *arguments.rate;
    }
    if (!arguments.scaling.empty()) {
        BELAY_TRY(scaling, scaling_named(arguments.scaling));
        rate.scaling = scaling;
        // A profile whose rate does not scale by itself does from its own batch on.
        if (rate.reference_batch == 0) rate.reference_batch = profile.batch;
    }
    if (!arguments.warmup.empty()) BELAY_CHECK(set_warmup(arguments.warmup, rate));
    return {};
}

Result<RunOptions> run_options(const Model& model, const Arguments& arguments) {
    RunOptions options{.profile = model.profile()};
    Profile& profile = options.profile;
    BELAY_CHECK(check_numbers(arguments));
    BELAY_CHECK(choose_optimizer(arguments, profile));
    profile.batch = arguments.batch.value_or(profile.batch);
    profile.train_samples = arguments.train_samples.value_or(profile.train_samples);
    profile.eval_samples = arguments.eval_samples.value_or(profile.eval_samples);
    profile.maximum_epochs = arguments.epochs.value_or(profile.maximum_epochs);
    profile.target = arguments.target.value_or(profile.target);
    profile.threads = arguments.threads.value_or(profile.threads);
    options.seed = arguments.seed;
    options.data = {.seed = arguments.data_seed, .directory = arguments.data};
    options.steps = arguments.steps;
    options.log_steps = arguments.log_steps;
    options.weights_out = arguments.weights_out;
    options.fail_at_step = arguments.fail_at_step;
    options.fail_rank = arguments.fail_rank;
    options.bucket_bytes = arguments.bucket.bytes;
    options.overlap = !arguments.no_overlap;
    options.split = arguments.split;
    options.checkpoint = arguments.checkpoint;
    options.checkpoint_every = arguments.checkpoint_every;
    options.resume = arguments.resume;
    options.stage_to = arguments.stage_to;
    return options;
}

Result<> write_summary(const std::string& path, const Outcome& outcome, const World& world, uint64_t seed) {
    nlohmann::ordered_json metric;
    if (!std::isnan(outcome.metric)) metric = outcome.metric;
    nlohmann::ordered_json summary = {
        {"target_reached", outcome.target_reached},
        {"epochs", outcome.epochs},
        {"metric", metric},
        {"seconds", outcome.seconds},
        {"ranks", world.size},
        {"nodes", world.nodes},
        {"seed", seed},
        {"weights_digest", outcome.weights_digest},
        {"samples_per_second", outcome.samples_per_second},
        {"staging_seconds", outcome.staging_seconds},
        {"data_wait_seconds", outcome.data_wait_seconds},
        {"exposed_communication_seconds", outcome.exposed_communication_seconds}};
    return core::write_output(path, summary.dump() + "\n");
}

Result<> write_data(const Model& model, const RunOptions& options, const std::string& directory) {
    Group alone;
    BELAY_TRY(cpus, usual_threads(alone));
    const int threads = options.profile.threads > 0 ? options.profile.threads : cpus;
    return model.write_data(options.data.seed, options.profile, directory, threads);
}

// Errors: also kNegative if the target was not reached.
Result<> train(const KnownModel& known, const Arguments& arguments) {
    using std::chrono::duration_cast, std::chrono::milliseconds;
    core::Environment environment = core::current_environment();
    BELAY_TRY(world, world_from(environment));
    BELAY_TRY(model, known.make(arguments.profile));
    BELAY_TRY(options, run_options(*model, arguments));
    if (!arguments.write_data.empty() && world.rank > 0) return {};
    if (!arguments.write_data.empty()) return write_data(*model, options, arguments.write_data);
    if (world.rank == 0) BELAY_CHECK(check_outputs(arguments));
    BELAY_CHECK(check_rendezvous_choice(arguments.rendezvous));
    BELAY_CHECK(check_sizes(*model, options, world.size, world.nodes));
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
    if (options.profile.threads == 0) {
        BELAY_TRY(cpus, usual_threads(*group));
        options.profile.threads = cpus;
    }
    MllogOutput log(world.rank == 0 ? STDOUT_FILENO : -1, core::system_clock());
    auto outcome = run_training(*model, options, *group, world.nodes, log, core::system_clock());
    if (!outcome) {
        [[maybe_unused]] const Group* left = group.release();
        return std::unexpected(std::move(outcome.error()));
    }
    if (!arguments.summary.empty() && world.rank == 0)
        BELAY_CHECK(write_summary(arguments.summary, *outcome, world, arguments.seed));
    if (log.failure()) return std::unexpected(core::Error(*log.failure()).context("the log is not whole"));
    if (!outcome->target_reached && arguments.steps == 0)
        return core::negative("the target was not reached: {} {:.4f} after {} epochs, wanted {}",
                              model->metric().name(), outcome->metric, outcome->epochs,
                              options.profile.target);
    return {};
}

}  // namespace

void add_model_command(core::Application& application, const KnownModel& model) {
    auto command =
        application.add({.name = std::string(model.name),
                         .summary = std::string(model.summary),
                         .exit_statuses = {{1, "the target was not reached, or the training diverged"}}});
    auto arguments = std::make_shared<Arguments>();
    declare_options(command, model, *arguments);
    command.run([arguments, model](const core::CommandContext&) -> Result<int> {
        auto done = train(model, *arguments);
        if (done) return 0;
        const int status = core::show_error("belay", done.error());
        std::fflush(nullptr);
        std::_Exit(status);  // not by way of the destructors of libtorch's threads
    });
}

}  // namespace belay::bench
