#include "spank/step.h"

#include "core/config.h"
#include "core/file.h"
#include "core/program.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/units.h"
#include "observe/supervisor.h"
#include "spank/answer.h"
#include "spank/plain/wire.h"
#include "stage/copy/job_copies.h"
#include "step/node.h"
#include "step/prepare.h"
#include "step/settings.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace belay::spank {

using core::Result;

namespace {

// What imports images needs many more libraries; they would be loaded for every step.
step::Importer importer_of(const std::vector<std::string>& words) {
    return [&words](const core::Configuration&, const image::Reference&) -> Result<> {
        std::error_code error;
        std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
        if (error) return core::errno_error(error, "cannot tell where belay-step is");
        std::string program = own.replace_filename("belay");
        std::vector<char*> argv = {program.data(), const_cast<char*>("_prepare"), const_cast<char*>("--")};
        for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        execv(argv[0], argv.data());
        return core::errno_error(
            errno, fmt::format("the image is not here yet, and {} cannot be run to get it", program));
    };
}

int tasks_link = -1;

// The tasks and slurmstepd are gone: nobody waits for the checks and the container of this node. Checks may
// take minutes.
void end_if_hung_up(int) {
    pollfd link{.fd = tasks_link, .events = 0, .revents = 0};
    if (poll(&link, 1, 0) == 1 && (link.revents & POLLHUP) != 0) _exit(1);
}

void end_when_abandoned(int link) {
    tasks_link = link;
    struct sigaction action{};
    action.sa_handler = end_if_hung_up;
    action.sa_flags = SA_RESTART;
    sigaction(SIGIO, &action, nullptr);
    fcntl(link, F_SETOWN, getpid());
    fcntl(link, F_SETFL, fcntl(link, F_GETFL) | O_ASYNC);
    end_if_hung_up(SIGIO);  // it may have happened before
}

// From the environment, which it leaves as the tasks are to see it.
Result<step::StepPlan> take_plan() {
    std::string text = core::environment_variable(kPlanVariable).value_or("");
    unsetenv(kPlanVariable);
    size_t blank = text.find(' ');
    if (blank == std::string::npos)
        return core::bad_input("{} is not set: belay-step is started by Belay's Slurm plugin", kPlanVariable);
    return step::decode_step_plan(std::string_view(text).substr(blank + 1));
}

template <typename Number>
Result<Number> number_of(const std::vector<std::string>& words, size_t index) {
    if (index < words.size())
        if (auto number = core::parse_number<Number>(words[index])) return *number;
    return core::bad_input("belay-step: word {} must be a number", index + 2);
}

Result<slurm::TaskFacts> this_step() {
    BELAY_TRY(facts, slurm::read_task_facts(slurm::process_environment()));
    if (!facts) return core::bad_input("belay-step works in a step of Slurm only");
    return std::move(*facts);
}

// The job's command line follows the numbers.
std::vector<std::string> command_after(const std::vector<std::string>& words, size_t numbers) {
    return {words.begin() + static_cast<std::ptrdiff_t>(std::min(numbers, words.size())), words.end()};
}

bool has_library(const step::StepPlan& plan) {
    std::filesystem::path library = plan.recording->io->library;
    if (plan.environment && plan.environment->container)
        for (const env::Bind& bind : plan.environment->container->binds)
            if (bind.destination == library) library = bind.source;
    const bool has = access(library.c_str(), R_OK) == 0;
    if (!has) core::tell("I/O is not traced: {} is not on this node; {}", library.string(), core::kJobGoesOn);
    return has;
}

// Of a task of this node, over all others that it gets.
Result<core::Environment> traced_variables(const step::StepPlan& plan, const core::Environment& host) {
    if (!plan.recording || !plan.recording->io) return core::Environment();
    BELAY_TRY(placement, observe::find_placement());
    // Another of its name would be mapped by all programs of the job, and a library that is not there be told
    // of by each.
    if (!observe::hold_io_trace(placement) || !has_library(plan)) return core::Environment();
    const core::Environment variables =
        plan.environment ? step::task_variables(*plan.environment, host) : host;
    const auto before = variables.find("LD_PRELOAD");
    return observe::io_traced_variables(
        plan.recording->io->library, placement,
        before == variables.end() ? std::nullopt : std::optional(before->second));
}

// The exit status, where all that there is to say has been said.
Result<int> prepare_and_answer(Answer& answer, pid_t watched, int notices, std::vector<std::string> command) {
    BELAY_TRY(plan, take_plan());
    BELAY_TRY(step, this_step());
    step::NodeContext context{.step = std::move(step),
                              .variables = core::current_environment(),
                              .command = std::move(command),
                              .watched = watched,
                              .notices = notices};
    context.offer = [&](const step::PreparedNode& node) -> Result<> {
        step::StepPlan wanted = plan;
        if (!node.recorded) wanted.recording.reset();
        std::vector<int> namespaces;
        if (node.container) {
            step::add_entry_variables(*wanted.environment, node.container->entry_variables());
            namespaces = {node.container->user_namespace(), node.container->mount_namespace()};
        }
        BELAY_TRY(traced, traced_variables(wanted, context.variables));
        return answer.offer(instructions(wanted, node.root_address, traced), namespaces);
    };
    BELAY_TRY(prepared, step::prepare_node(plan, context));
    if (!prepared) return static_cast<int>(prepared.error());
    BELAY_CHECK(answer.start());
    return 0;
}

// Where the task's own messages went before, the supervisor's go too.
Result<core::ExitStatus> run_supervisor(const std::vector<std::string>& words) {
    BELAY_TRY(pid, number_of<pid_t>(words, 0));
    BELAY_TRY(output, number_of<int>(words, 1));
    BELAY_TRY(error, number_of<int>(words, 2));
    BELAY_TRY(control, number_of<int>(words, 3));
    BELAY_TRY(process, core::adopt_child(pid));
    observe::StartedTask task{.process = std::move(process),
                              .output = core::Descriptor(output),
                              .error = core::Descriptor(error),
                              .control = core::Descriptor(control)};
    BELAY_TRY(plan, take_plan());
    if (!plan.recording) return core::bad_input("belay-step supervise: the step is not recorded");
    BELAY_TRY(step, this_step());
    BELAY_TRY(path, step::record_path(*plan.recording, step));
    BELAY_TRY(placement, observe::find_placement());
    auto command = command_after(words, 4);
    observe::RecorderOptions options{
        .record = path,
        .interval = plan.recording->interval,
        .flush = plan.recording->flush,
        .progress_patterns = plan.recording->progress_patterns,
        .command_name = command.empty() ? "the task" : std::filesystem::path(command[0]).filename().string(),
        .allocation_start = core::system_clock().now()};
    std::optional<iotrace::SharedTrace> trace =
        plan.recording->io ? observe::hold_io_trace(placement) : std::nullopt;
    if (trace) {
        options.io_trace = trace->path();
        options.tiers = plan.recording->io->tiers;
    }
    return observe::supervise(std::move(task), std::move(options), placement);
}

// The job's variables that were hidden from the loader get their names back.
void show_hidden_variables() {
    for (const auto& [name, value] : core::current_environment()) {
        if (!name.starts_with(kLoaderPrefix)) continue;
        setenv(name.substr(sizeof kLoaderPrefix - 1).c_str(), value.c_str(), 1);
        unsetenv(name.c_str());
    }
}

Result<int> prepare(const std::vector<std::string>& words) {
    BELAY_TRY(plan, step::plan_for_plugin(words, importer_of(words)));
    fmt::print("{}", plan);
    return 0;
}

Result<int> node(const std::vector<std::string>& words) {
    BELAY_TRY(link, number_of<int>(words, 0));
    BELAY_TRY(tasks, number_of<unsigned>(words, 1));
    BELAY_TRY(watched, number_of<pid_t>(words, 2));
    BELAY_TRY(notices, number_of<int>(words, 3));
    core::Descriptor socket(link);
    core::Descriptor filled(notices);
    for (int fd : {socket.get(), filled.get()}) fcntl(fd, F_SETFD, FD_CLOEXEC);
    end_when_abandoned(socket.get());
    Answer answer(socket.get(), tasks);
    auto done = prepare_and_answer(answer, watched, filled.get(), command_after(words, 4));
    if (done && *done == 0) return 0;
    int status = done.value_or(0);
    if (!done) {
        // Without the node's name nobody could tell which one. It is said before the tasks end.
        auto name = core::environment_variable("SLURMD_NODENAME");
        status = core::show_error("belay", name ? std::move(done.error()).context(*name) : done.error());
    }
    answer.refuse();
    return status;
}

Result<int> supervise(const std::vector<std::string>& words) {
    BELAY_TRY(status, run_supervisor(words));
    return core::end_like(status);
}

// At the end of a job, as its user (spank/plugin/job_end.cpp).
Result<int> clean(const std::vector<std::string>& words) {
    BELAY_TRY(job, number_of<uint64_t>(words, 0));
    BELAY_TRY(done, stage::clean_for_job(
                        {.job = job, .node = core::environment_variable("SLURMD_NODENAME").value_or("")}));
    for (const core::Error& error : done.failed) core::tell_error("staged data are left", error);
    return done.failed.empty() ? 0 : 3;
}

Result<int> run_verb(const std::vector<std::string>& words) {
    struct Verb {
        std::string_view name;
        Result<int> (*run)(const std::vector<std::string>&);
    };
    constexpr Verb kVerbs[] = {
        {"prepare", prepare}, {"node", node}, {"supervise", supervise}, {"clean", clean}};
    for (const Verb& verb : kVerbs)
        if (!words.empty() && words[0] == verb.name) return verb.run({words.begin() + 1, words.end()});
    return core::bad_input("belay-step is started by Belay's Slurm plugin")
        .hint("what people type is belay; see belay(1)");
}

}  // namespace

int run(const std::vector<std::string>& words) {
    return core::run_program("belay", [&] {
        show_hidden_variables();
        return run_verb(words);
    });
}

}  // namespace belay::spank
