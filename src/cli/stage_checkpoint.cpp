// belay stage checkpoint, checkpoint lint, checkpoint keep: how often to write one, which are complete, and
// which to keep.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "core/progress_display.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/checkpoint/advice.h"
#include "stage/lint/series.h"

#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

struct CheckpointOptions {
    double write_seconds = 0;
    std::optional<double> mtbf_seconds;
    std::optional<int64_t> devices;
    std::optional<double> failures;
    std::optional<double> device_hours;
    double restart_seconds = 0;
    std::optional<double> step_seconds;
    std::string model = std::string(stage::kUsualModel);
    bool json = false;
};

// M, and what it is known from.
struct MeanTime {
    double seconds = 0;
    std::string source;
};

Result<MeanTime> mean_time_of(const CheckpointOptions& options) {
    if (options.mtbf_seconds && options.devices)
        return core::bad_input("--devices: --mtbf-seconds says already how often the job is interrupted")
            .hint("leave one of them out");
    if (options.failures.has_value() != options.device_hours.has_value())
        return core::bad_input("--failures and --device-hours: only one of them is given")
            .hint("write how many failures there were in how many GPU-hours");
    if (options.mtbf_seconds) return MeanTime{*options.mtbf_seconds, "--mtbf-seconds"};
    if (!options.devices)
        return core::bad_input("how often the job is interrupted is not known")
            .hint("give --mtbf-seconds, or --devices with the number of GPUs");
    if (*options.devices < 1)
        return core::bad_input("--devices {}: is not a number of GPUs", *options.devices)
            .hint("write 1 or more");
    const double failures = options.failures.value_or(stage::kKnownFailures);
    const double hours = options.device_hours.value_or(stage::kKnownDeviceHours);
    if (!(failures > 0) || !(hours > 0))
        return core::bad_input("--failures {:g} in --device-hours {:g}: both must be more than 0", failures,
                               hours);
    return MeanTime{
        stage::mtbf_of(*options.devices, failures, hours),
        options.failures
            ? fmt::format("{:g} {} in {:.0f} GPU-hours", failures, failures == 1 ? "failure" : "failures",
                          hours)
            : fmt::format("{:g} failures in {:.0f} GPU-hours, those of Llama 3 (arXiv 2407.21783)", failures,
                          hours)};
}

// How much more is lost at another interval than at the advised one.
struct OtherInterval {
    double seconds = 0;
    double lost_share = 0;
    double more = 0;  // of what writing and repeating cost, which is what an interval can change
};

OtherInterval other_interval(const stage::CheckpointCost& cost, const stage::CheckpointAdvice& advice,
                             double factor) {
    const double fixed = cost.restart_seconds / cost.mtbf_seconds;
    const double seconds = factor * advice.interval_seconds;
    const double share = stage::lost_share(cost, seconds);
    const double changeable = advice.lost_share - fixed;
    return {seconds, share, changeable > 0 ? (share - fixed) / changeable - 1 : 0};
}

std::string duration_text(double seconds) {
    constexpr double kMost = 1e9;
    return seconds < kMost ? core::format_duration(core::Duration(static_cast<int64_t>(seconds * 1e9)))
                           : fmt::format("{:g} s", seconds);
}

Result<int> run_checkpoint_advice(const core::CommandContext& context, const CheckpointOptions& options) {
    BELAY_TRY(mean_time, mean_time_of(options));
    const stage::CheckpointCost cost{.write_seconds = options.write_seconds,
                                     .mtbf_seconds = mean_time.seconds,
                                     .restart_seconds = options.restart_seconds,
                                     .step_seconds = options.step_seconds};
    BELAY_TRY(advice, stage::advise(cost, options.model));
    const OtherInterval longer = other_interval(cost, advice, 1.3);
    const OtherInterval shorter = other_interval(cost, advice, 0.7);
    if (options.json) {
        auto interval = [](const OtherInterval& other) {
            return nlohmann::ordered_json{{"interval_seconds", other.seconds},
                                          {"lost_share", other.lost_share},
                                          {"overhead_change", other.more}};
        };
        context.print_json(nlohmann::ordered_json{
            {"interval_seconds", advice.interval_seconds},
            {"interval_steps", advice.interval_steps ? nlohmann::ordered_json(*advice.interval_steps)
                                                     : nlohmann::ordered_json(nullptr)},
            {"model", advice.model},
            {"lost_share", advice.lost_share},
            {"model_seconds", advice.model_seconds},
            {"at_floor", advice.at_floor},
            {"write_seconds", cost.write_seconds},
            {"mtbf_seconds", cost.mtbf_seconds},
            {"mtbf_source", mean_time.source},
            {"restart_seconds", cost.restart_seconds},
            {"longer", interval(longer)},
            {"shorter", interval(shorter)},
        });
        return 0;
    }
    context.print("interval     {}{}\n", duration_text(advice.interval_seconds),
                  advice.interval_steps
                      ? ", " + core::format_count(static_cast<uint64_t>(*advice.interval_steps), "step")
                      : "");
    context.print(
        "lost         {:.2f} % of the job's time, to writing, to work that is done again, and to restarts\n",
        100 * advice.lost_share);
    context.print("model        {}\n", advice.model);
    context.print("interrupted  every {} ({})\n", duration_text(cost.mtbf_seconds), mean_time.source);
    for (const auto& [what, other] : {std::pair{"30 % longer", longer}, {"30 % shorter", shorter}})
        context.print("{:<12} {}: {:+.1f} % of what writing and repeated work cost, {:.2f} % lost in all\n",
                      what, duration_text(other.seconds), 100 * other.more, 100 * other.lost_share);
    if (advice.at_floor)
        context.print(
            "note: the model says {} ({:.2f} % lost); what is advised is never shorter than {:g} times the "
            "time "
            "of a write: write faster, or while training goes on\n",
            duration_text(advice.model_seconds), 100 * stage::lost_share(cost, advice.model_seconds),
            stage::kLeastIntervalInWrites);
    if (advice.lost_share >= 1)
        context.print(
            "note: interruptions come faster than the job gets on: write faster, restart faster, or use "
            "fewer GPUs\n");
    return 0;
}

struct LintOptions {
    std::string directory;
    std::optional<int64_t> ranks;
    std::string marker;
    bool checksums = false;
    size_t last = 3;
    std::optional<int64_t> every;
    bool json = false;
};

Result<stage::CheckpointSeries> lint_series(const LintOptions& options) {
    if (options.ranks && *options.ranks < 1)
        return core::bad_input("--ranks {}: is not a number of ranks", *options.ranks)
            .hint("write 1 or more");
    core::ProgressDisplay display(core::system_clock());
    display.start("reading checkpoints", core::ProgressUnit::bytes());
    return stage::lint(options.directory,
                       {.ranks = options.ranks, .marker = options.marker, .checksums = options.checksums},
                       [&](uint64_t bytes) { display.update(bytes); });
}

std::string step_text(const std::optional<int64_t>& step) {
    return step ? std::to_string(*step) : "-";
}

void print_series(const core::CommandContext& context, const stage::CheckpointSeries& series) {
    std::vector<std::vector<std::string>> rows;
    for (const stage::Checkpoint& checkpoint : series.checkpoints)
        rows.push_back({checkpoint.name, step_text(checkpoint.step), checkpoint.format,
                        checkpoint.ranks ? std::to_string(*checkpoint.ranks) : "-",
                        std::to_string(checkpoint.files), core::format_decimal({checkpoint.bytes}),
                        std::string(to_text(checkpoint.state))});
    context.print("{}",
                  render_table({"checkpoint", "step", "format", "ranks", "files", "bytes", "state"}, rows));
    constexpr size_t kMost = 5;
    for (const stage::Checkpoint& checkpoint : series.checkpoints) {
        for (size_t at = 0; at < std::min(checkpoint.problems.size(), kMost); ++at)
            context.print("{}: {}: {}\n", core::printable(checkpoint.name),
                          to_text(checkpoint.problems[at].state),
                          core::printable(checkpoint.problems[at].what));
        if (checkpoint.problems.size() > kMost)
            context.print("{}: and {} more\n", core::printable(checkpoint.name),
                          checkpoint.problems.size() - kMost);
    }
    std::vector<std::string> notes = series.notes;
    for (const stage::Checkpoint& checkpoint : series.checkpoints)
        for (const std::string& note : checkpoint.notes)
            if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    for (const std::string& note : notes) context.print("note: {}\n", core::printable(note));
}

Result<int> run_checkpoint_lint(const core::CommandContext& context, const LintOptions& options) {
    BELAY_TRY(series, lint_series(options));
    if (options.json)
        context.print_json(to_json(series));
    else
        print_series(context, series);
    const bool all = std::ranges::all_of(series.checkpoints, [](const stage::Checkpoint& each) {
        return each.state == stage::CheckpointState::kComplete;
    });
    return all ? 0 : 1;
}

Result<int> run_checkpoint_keep(const core::CommandContext& context, const LintOptions& options) {
    BELAY_TRY(series, lint_series(options));
    BELAY_TRY(plan, stage::plan_keep(series.checkpoints, {.last = options.last, .every = options.every}));
    if (options.json) {
        context.print_json(to_json(plan));
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const stage::KeepLine& line : plan.lines)
        rows.push_back({std::string(to_text(line.action)), line.name, step_text(line.step),
                        std::string(to_text(line.state)), core::format_decimal({line.bytes}), line.reason});
    context.print("{}", render_table({"", "checkpoint", "step", "state", "bytes", "why"}, rows));
    context.print("{} would become free. Nothing was removed: this is a plan.\n",
                  core::format_decimal({plan.freed_bytes}));
    return 0;
}

void declare_lint_options(core::CommandDeclaration& command, LintOptions& options) {
    command.options()
        .add_option("DIR", options.directory, "the directory of one checkpoint, or of a series of them")
        ->required();
    command.options()
        .add_option("--ranks", options.ranks, "how many ranks the job has that is to continue from it")
        ->type_name("N");
    command.options()
        .add_option("--marker", options.marker, "a file in each checkpoint that your program writes last")
        ->type_name("FILE");
    command.options().add_flag("--checksums", options.checksums,
                               "read all of each file that holds checksums, and compare them");
    command.json(options.json);
}

}  // namespace

void add_stage_checkpoint(core::Application& application) {
    auto command = application.add({
        .name = "stage checkpoint",
        .summary = "say how often to write a checkpoint",
        .description =
            "The interval at which writing and what an interruption loses cost least together, "
            "and how much an interval beside it costs more: the optimum is "
            "flat, so one that suits the program is as good.\n\n"
            "How often the job is interrupted is what the site has seen, or is taken from what is "
            "known of a large training, in proportion to the number of "
            "GPUs. Of a checkpoint that is written while training goes on, only the time counts "
            "for which training stands still. Where the formula gives an interval of less than ten "
            "times that, ten times is advised, and it is said.",
        .examples = {{"belay stage checkpoint --write-seconds 10 --mtbf-seconds 6000 --restart-seconds 600 "
                      "--step-seconds 15",
                      "in seconds and in steps"},
                     {"belay stage checkpoint --write-seconds 9.1 --devices 1024",
                      "for a job on 1,024 GPUs"}},
    });
    auto options = std::make_shared<CheckpointOptions>();
    command.options()
        .add_option("--write-seconds", options->write_seconds,
                    "seconds for which training waits for one checkpoint")
        ->required()
        ->type_name("C");
    command.options()
        .add_option("--mtbf-seconds", options->mtbf_seconds,
                    "mean seconds between interruptions of the whole job")
        ->type_name("M");
    command.options()
        .add_option("--devices", options->devices, "instead: the number of the job's GPUs")
        ->type_name("N");
    command.options()
        .add_option("--failures", options->failures, "with --devices: failures that the site has seen")
        ->type_name("F");
    command.options()
        .add_option("--device-hours", options->device_hours, "in so many GPU-hours")
        ->type_name("H");
    command.options()
        .add_option("--restart-seconds", options->restart_seconds,
                    "seconds from an interruption until training goes on")
        ->type_name("R");
    command.options()
        .add_option("--step-seconds", options->step_seconds,
                    "seconds of one step, to say the interval in steps")
        ->type_name("S");
    std::vector<std::string> models, formulas;
    for (const stage::CheckpointModel& model : stage::checkpoint_models()) {
        models.emplace_back(model.name);
        formulas.push_back(fmt::format("{}: {}", model.name, model.formula));
    }
    command.choice("--model", options->model, models,
                   fmt::format("by whose formula: {}; \"restart\" is \"young\" where R is 0",
                               core::join(formulas, ", ")));
    command.json(options->json);
    command.run(
        [options](const core::CommandContext& context) { return run_checkpoint_advice(context, *options); });
}

void add_stage_checkpoint_lint(core::Application& application) {
    auto command = application.add({
        .name = "stage checkpoint lint",
        .summary = "say which checkpoints are complete",
        .description = "Looks at each checkpoint in a directory: files of torch.save for each rank, torch "
                       "distributed checkpoints, those of Megatron and DeepSpeed, and "
                       "safetensors.\n\n"
                       "complete: everything is there. partial: a file of a rank or a part is missing. torn: "
                       "a file is shorter than its own content says. unsynced: nothing "
                       "says that the write came to its end. foreign: it was written by another number of "
                       "ranks. Content is not unpickled, so nothing of it is run. The exit "
                       "status is 1 if any is not complete.",
        .examples = {{"belay stage checkpoint lint run/checkpoints", "the state of each"},
                     {"belay stage checkpoint lint run/checkpoints --ranks 64 --checksums",
                      "for a job of 64 ranks; reads all of each"}},
        .exit_statuses = {{1, "a checkpoint is not complete"}},
    });
    auto options = std::make_shared<LintOptions>();
    declare_lint_options(command, *options);
    command.run(
        [options](const core::CommandContext& context) { return run_checkpoint_lint(context, *options); });
}

void add_stage_checkpoint_keep(core::Application& application) {
    auto command = application.add({
        .name = "stage checkpoint keep",
        .summary = "plan which checkpoints to keep",
        .description = "Keeps the last complete checkpoints and every n-th, and always the newest complete "
                       "one. What is not complete does not count; it may go once a newer one "
                       "is complete. This command only prints the plan; it removes nothing.",
        .examples = {{"belay stage checkpoint keep run/checkpoints --last 2 --every 10000",
                      "the last two, and one for every 10,000 steps"}},
    });
    auto options = std::make_shared<LintOptions>();
    declare_lint_options(command, *options);
    command.options()
        .add_option("--last", options->last, "keep the last K complete ones")
        ->type_name("K")
        ->default_str("3");
    command.options()
        .add_option("--every", options->every, "also keep those whose step is a multiple of N")
        ->type_name("N");
    command.run(
        [options](const core::CommandContext& context) { return run_checkpoint_keep(context, *options); });
}

}  // namespace belay::cli
