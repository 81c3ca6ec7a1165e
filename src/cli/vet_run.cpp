// belay vet run: the checks of a protocol on this node, or on all nodes of a step.
#include "cli/commands.h"
#include "cli/vet_text.h"
#include "core/file.h"
#include "core/output.h"
#include "core/process.h"
#include "core/program.h"
#include "core/progress_display.h"
#include "slurm/job.h"
#include "stream/liveness.h"
#include "vet/runner.h"
#include "vet/step_context.h"
#include "vet/step_secret.h"
#include "vet/verdict_json.h"
#include "vet/verdict_text.h"

#include <memory>
#include <thread>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

constexpr auto kCarryTime = std::chrono::milliseconds(200);

struct Options {
    std::string protocol;
    std::string vetted, cordoned;
    std::optional<size_t> need;
    core::Duration timeout{};
    bool json = false;
};

Result<> publish(const vet::Verdicts& verdicts, const Options& options, const core::CommandContext& context) {
    if (options.json)
        context.print_json(vet::to_json(verdicts));
    else
        context.print("{}", verdicts_text(verdicts));
    std::fflush(context.out());
    for (const auto& [path, nodes] :
         {std::pair(&options.vetted, &verdicts.vetted), std::pair(&options.cordoned, &verdicts.cordoned)})
        if (!path->empty()) BELAY_CHECK(core::write_output(*path, vet::host_file(*nodes)));
    return {};
}

Result<> check_names(const Options& options) {
    if (options.vetted.empty() || options.vetted != options.cordoned) return {};
    return core::bad_input("--vetted and --cordoned name the same file: {}", options.vetted)
        .hint("give each a file of its own");
}

// Before checks that may take minutes. Not in a step: only its first node writes, and the others would wait
// for one that has ended.
Result<> check_outputs(const Options& options) {
    for (const std::string* path : {&options.vetted, &options.cordoned})
        if (!path->empty()) BELAY_CHECK(core::check_output(*path));
    return {};
}

// A run that ends without a verdict leaves no verdict of an earlier one. What cannot be written is told with
// the verdict.
void empty_outputs(const Options& options) {
    for (const std::string* path : {&options.vetted, &options.cordoned})
        if (!path->empty()) (void)core::write_output(*path, "");
}

Result<> check_need(const Options& options, size_t nodes) {
    if (!options.need || (*options.need >= 1 && *options.need <= nodes)) return {};
    return core::bad_input("--need {}: {} {} vetted", *options.need, nodes,
                           nodes == 1 ? "node is" : "nodes are")
        .hint("give a number from 1 to that");
}

// Where this process stands: on its own, the first task of a node in a step, or another task of one.
struct Place {
    std::optional<vet::StepContext> step;
    bool other_task = false;
    size_t job_nodes = 1;  // of which it is one, without a step
};

Result<Place> find_place() {
    auto lookup = slurm::process_environment();
    BELAY_TRY(facts, slurm::read_task_facts(lookup));
    Place place;
    if (!facts) return place;
    BELAY_TRY(step, vet::step_context(lookup, slurm::system_address()));
    place.other_task = !step && facts->step_id && facts->local_rank.value_or(0) > 0;
    if (!facts->step_id) place.job_nodes = facts->job_nodes.size();
    place.step = std::move(step);
    return place;
}

Result<int> run_alone(const vet::Protocol& protocol, const Options& options, core::Duration timeout,
                      vet::NodeView view, const core::CommandContext& context) {
    BELAY_CHECK(check_need(options, 1));
    BELAY_CHECK(check_outputs(options));
    empty_outputs(options);
    core::ProgressDisplay display(core::system_clock());
    display.start("checks", core::ProgressUnit::items("checks"), protocol.checks.size());
    vet::Verdicts verdicts = vet::run_alone(
        protocol, core::environment_variable("SLURMD_NODENAME").value_or(stream::this_node()), options.need,
        {.deadline = core::Deadline::after(timeout),
         .stop_at_first_refusal = options.need.has_value(),
         .view = std::move(view),
         .progress = [&](size_t done) { display.update(done); }});
    display.finish();
    BELAY_CHECK(publish(verdicts, options, context));
    return verdicts.exit_status();
}

// What srun has not read yet is lost when it ends a step for a bad exit status (--kill-on-bad-exit).
void let_srun_read() {
    std::this_thread::sleep_for(kCarryTime);
}

Result<int> run_in_step(const vet::Protocol& protocol, const Options& options, core::Duration timeout,
                        vet::StepContext step, const core::CommandContext& context) {
    BELAY_CHECK(check_need(options, step.nodes.size()));
    if (step.rank == 0) empty_outputs(options);
    core::ProgressDisplay display(core::system_clock());
    Result<> published;
    step.need = options.need;
    step.timeout = timeout;
    if (step.rank == 0)
        display.start("nodes that have reported", core::ProgressUnit::items("nodes"), step.nodes.size());
    step.progress = [&](size_t reported) { display.update(reported); };
    step.announce = [&](const vet::Verdicts& verdicts) {
        display.finish();
        published = publish(verdicts, options, context);
        if (!verdicts.passed) let_srun_read();
    };
    auto verdicts = vet::run_in_step(protocol, step);
    if (!verdicts) {
        display.finish();
        if (!vet::is_said_elsewhere(verdicts.error(), step)) core::show_error("belay", verdicts.error());
        let_srun_read();
        return verdicts.error().exit_status();
    }
    BELAY_CHECK(published);
    return verdicts->exit_status();
}

}  // namespace

void add_vet_run(core::Application& application) {
    auto command = application.add({
        .name = "vet run",
        .summary = "check this node, or all nodes of a step",
        .description =
            "Runs the checks of PROTOCOL and says which nodes are fit. Under srun the first task of every "
            "node takes part and the step's first task prints, so that `srun -N8 belay vet run P` vets eight "
            "nodes; every task of those ends with the verdict's exit status. Elsewhere this machine is "
            "checked.\n\n"
            "A status is pass, fail (measured, criterion not met), error (could not be measured), "
            "unsupported (the type or a device that it needs is absent here) or missing (no report in time). "
            "Only pass passes. A check with severity: warning is reported but refuses no node.\n\n"
            "With --need N the verdict is pass once N nodes are fit; vetting then stops as soon as that is "
            "impossible (exit status 4). Without it every check of every node is run.",
        .examples = {{"srun -N8 belay vet run before-training.yaml", "vet eight nodes"},
                     {"srun -N10 belay vet run --need 8 --cordoned bad.txt p.yaml && srun -N8 "
                      "--exclude=./bad.txt ./train",
                      "take ten, go on with eight that are fit"},
                     {"belay vet run --json p.yaml", "this machine, for a script"}},
        .exit_statuses = {{0, "every essential check of every node passed, or enough nodes did"},
                          {1, "they did not: the statuses say why"},
                          {2, "the command line or the protocol is wrong; nothing was checked"},
                          {3, "vetting itself could not run"},
                          {4, "stopped early: too few nodes could still pass (--need)"}},
    });
    auto options = std::make_shared<Options>();
    command.options().add_option("PROTOCOL", options->protocol, "file with the checks")->required();
    command.options().add_option("--need", options->need, "how many nodes must be fit")->type_name("N");
    command.options()
        .add_option("--vetted", options->vetted, "write the names of fit nodes here, one per line")
        ->type_name("FILE");
    command.options()
        .add_option("--cordoned", options->cordoned, "write the names of the other nodes here, one per line")
        ->type_name("FILE");
    command.duration("--timeout", options->timeout,
                     "time in which every node must report (the protocol's, or the setting vet.timeout)");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(place, find_place());
        if (place.other_task) return 0;
        BELAY_CHECK(check_names(*options));
        BELAY_TRY(configuration, context.configuration());
        bool speaks = !place.step || place.step->rank == 0;
        BELAY_TRY(protocol, load_protocol(options->protocol, speaks));
        core::Duration timeout = options->timeout > core::Duration::zero()
                                     ? options->timeout
                                     : protocol.timeout.value_or(configuration.duration("vet.timeout"));
        vet::NodeView view{.nvml_library = configuration.text("nvml.library")};
        if (place.step) {
            auto munge = slurm::munge_at(configuration.text("munge.socket"));
            BELAY_TRY(weakness, vet::share_secret(*place.step, munge));
            if (weakness) fmt::print(stderr, "{}", weakness->render("belay: warning"));
            place.step->view = view;
        }
        if (place.step) return run_in_step(protocol, *options, timeout, std::move(*place.step), context);
        if (place.job_nodes > 1)
            fmt::print(stderr,
                       "belay: only this node is checked; `srun belay vet run …` checks all {} of the job\n",
                       place.job_nodes);
        return run_alone(protocol, *options, timeout, std::move(view), context);
    });
}

}  // namespace belay::cli
