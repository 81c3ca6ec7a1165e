// The Slurm plugin: options on srun, and on each node the few things that must happen in the task itself.
//
// It does nothing at all for steps that use none of its options. What fails is kept until the tasks start,
// since Slurm lets a step run whose plugin failed earlier; then no task runs.
#include "spank/plugin/plugin.h"

extern "C" {
#include <slurm/spank.h>
}

#include "env/container/notice.h"
#include "spank/plain/notices.h"
#include "spank/plain/output.h"
#include "spank/plain/plan.h"
#include "spank/plain/wire.h"
#include "spank/plugin/configuration.h"
#include "spank/plugin/task.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// What SPANK_PLUGIN declares, visible: in C++ its constants would not be.
#pragma GCC visibility push(default)
extern "C" {
extern const char plugin_name[] = "belay";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;
}
#pragma GCC visibility pop

namespace belay::spank {

namespace {

static_assert(sizeof(Choice::name) == SPANK_OPTION_MAXLEN);

struct Step {
    char failure[512];  // kept until the tasks start
    char* plan;
    int link[2];     // tasks read from the first, belay-step writes to the second
    int notices[2];  // we read from the first, the container's holder writes to the second
    unsigned told;   // of the notices: take_notices()
    uint32_t forked_tasks;
    int daemon;  // process id of slurmstepd
} step = {"", nullptr, {-1, -1}, {-1, -1}, 0, 0, -1};

bool is_used() {
    for (const Choice& choice : choices)
        if (choice.used) return true;
    return false;
}

// Nobody is misled by a step that runs without its record: what keeps Belay from working is then told, with
// kNotRecorded, and the step runs as if nothing had been asked for.
bool is_only_recorded() {
    return choices[kRecord].used && !choices[kEnvironment].used && !choices[kVet].used &&
           !choices[kStage].used;
}

void forget_options() {
    for (Choice& choice : choices) choice.used = false;
}

#define BELAY_FAIL(...) keep(step.failure, sizeof step.failure, __VA_ARGS__)

int remember(int value, const char* argument, int remote) {
    Choice& choice = choices[value];
    if (remote == 0 && spank_context() == S_CTX_ALLOCATOR) {
        fprintf(stderr, "belay: --%s: works with srun only\nhint: write it after srun, in the script\n",
                choice.name);
        return -1;
    }
    choice.used = true;
    // The value is srun's; slurmstepd calls twice for an option without one: with nothing, then with "".
    if (remote != 0 || argument == nullptr || argument[0] == '\0') return 0;
    free(choice.value);
    choice.value = strdup(argument);
    if (choice.value != nullptr) return 0;
    fprintf(stderr, "belay: --%s: no memory\n", choice.name);
    return -1;
}

// Signals that end srun, and wait until plugins have started.
bool is_interrupted() {
    sigset_t pending;
    sigpending(&pending);
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
        if (sigismember(&pending, signal) == 1) return true;
    return false;
}

int run_without_record() {
    return setenv(kPlanVariable, kNoPlan, 1) == 0 ? 0 : -1;
}

// In srun: belay-step reads what the options name and prints the plan. Its own messages go to stderr.
int prepare() {
    char words[kOptions][4200];
    char* arguments[kOptions + 3] = {const_cast<char*>("belay-step"), const_cast<char*>("prepare")};
    size_t count = 2;
    const char* const names[kOptions] = {"--environment", "--vet", "--record", "--stage"};
    for (int i = 0; i < kOptions; ++i) {
        if (!choices[i].used) continue;
        int length = choices[i].value == nullptr
                         ? snprintf(words[i], sizeof words[i], "%s", names[i])
                         : snprintf(words[i], sizeof words[i], "%s=%s", names[i], choices[i].value);
        if (length >= static_cast<int>(sizeof words[i])) {
            fprintf(stderr, "belay: --%s: longer than 4 KiB\n", choices[i].name);
            return -1;
        }
        arguments[count++] = words[i];
    }
    size_t length = 0;
    char* plan = output_of(configuration.step, arguments, kLongestPlan, length);
    if (length > kLongestPlan)
        fprintf(
            stderr,
            "belay: the plan of the step has %zu bytes, and srun can pass on %zu at most\n"
            "hint: shorten what it holds: the variables and mounts of the environment, the vetting protocol, "
            "record.progress_pattern\n",
            length, kLongestPlan);
    if (plan == nullptr) {
        if (!is_only_recorded() || is_interrupted()) return -1;
        fprintf(stderr, "belay: --%s%s\n", choices[kRecord].name, kNotRecorded);
        return run_without_record();
    }
    // Of a step that asked for more, no record's plan will do, nor what another program printed.
    const bool says_none = strcmp(plan, kNoPlan) == 0;
    const bool fits = is_only_recorded() ? says_none || is_plan_of_record(plan)
                                         : begins_like_plan(plan) && !is_plan_of_record(plan);
    if (!fits)
        fprintf(stderr, "belay: %s printed no plan for the step: is it belay-step?\n", configuration.step);
    const int failed = fits ? setenv(kPlanVariable, plan, 1) : -1;
    free(plan);
    if (fits && failed != 0) fprintf(stderr, "belay: no memory for the plan of the step\n");
    if (failed != 0 && is_only_recorded()) {
        fprintf(stderr, "belay: --%s%s\n", choices[kRecord].name, kNotRecorded);
        return run_without_record();
    }
    return failed == 0 ? 0 : -1;
}

void take_plan(spank_t spank) {
    step.plan = static_cast<char*>(malloc(kLongestPlan + 1));
    if (step.plan == nullptr) return BELAY_FAIL("no memory for the plan");
    spank_err_t error = spank_getenv(spank, kPlanVariable, step.plan, kLongestPlan + 1);
    spank_unsetenv(spank, kPlanVariable);
    if (error == ESPANK_SUCCESS) return;
    step.plan[0] = '\0';
    if (error == ESPANK_NOSPACE)
        BELAY_FAIL("the plan of the step is longer than %zu KiB", kLongestPlan >> 10);
    else
        BELAY_FAIL("the plan of the step did not arrive: is the plugin loaded in srun?");
}

void make_links() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, step.link) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, step.notices) != 0)
        BELAY_FAIL("cannot make a socket pair: %s", strerror(errno));
}

// On a node. The options may have other names here than in srun, so the plan has to say that the step is only
// recorded; without one nothing else than the options is known.
bool may_run_without_plan() {
    return is_only_recorded() &&
           (step.plan == nullptr || step.plan[0] == '\0' || is_plan_of_record(step.plan));
}

// A plan for a step that, as far as this node knows, uses none of our options: they have other names here.
// Slurm only warns of that, and the tasks would run without what was asked for. Anything else in the variable
// is not ours.
void look_for_orphaned_plan(spank_t spank) {
    char start[16] = "";
    (void)spank_getenv(spank, kPlanVariable, start, sizeof start);  // cut off
    if (begins_like_plan(start))
        BELAY_FAIL(
            "this node does not know the options that srun was given: is plugstack.conf the same here?");
}

}  // namespace

int on_init(spank_t spank, int count, char** words) {
    spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_REMOTE && context != S_CTX_ALLOCATOR) return 0;
    read_configuration(count, words);
    for (int i = 0; i < kOptions; ++i) {
        spank_option option{.name = choices[i].name,
                            .arginfo = const_cast<char*>(choices[i].argument),
                            .usage = const_cast<char*>(choices[i].usage),
                            .has_arg = choices[i].has_argument,
                            .val = i,
                            .cb = remember};
        // Another plugin may own the name: then its jobs are its own, and ours need another name.
        if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
            slurm_debug("belay: cannot register --%s", choices[i].name);
    }
    return 0;
}

int on_options(spank_t) {
    if (spank_context() != S_CTX_LOCAL) return 0;
    unsetenv(kPlanVariable);  // a plan is srun's own, never the environment's
    if (!is_used()) return 0;
    char reason[200];
    const bool off = is_off(reason, sizeof reason);
    if (!off && !has_mistake()) return prepare();
    const char* consequence = is_only_recorded() ? kNotRecorded : "";
    if (off)
        fprintf(stderr, "belay: switched off on this system%s%s%s\nhint: %s says so; ask the operators\n",
                reason[0] == '\0' ? "" : ": ", reason, consequence, configuration.switch_file);
    else
        fprintf(stderr, "belay: %s%s\n", configuration.mistake, consequence);
    return is_only_recorded() ? run_without_record() : -1;
}

int on_user(spank_t spank) {
    if (spank_context() != S_CTX_REMOTE) return 0;
    step.daemon = getpid();
    if (!is_used()) {
        look_for_orphaned_plan(spank);
        return 0;
    }
    take_plan(spank);
    if (step.failure[0] == '\0' && is_only_recorded() && strcmp(step.plan, kNoPlan) == 0) {
        forget_options();
        return 0;
    }
    if (step.failure[0] == '\0' && !begins_like_plan(step.plan))
        BELAY_FAIL("what arrived is not the plan of a step with these options");
    char reason[200];
    if (has_mistake()) BELAY_FAIL("%s", configuration.mistake);
    if (is_off(reason, sizeof reason))
        BELAY_FAIL("switched off on this node: %s says so", configuration.switch_file);
    if (step.failure[0] != '\0' && may_run_without_plan()) {
        slurm_spank_log("belay: %s: %s%s", node_name(), step.failure, kNotRecorded);
        forget_options();
        step.failure[0] = '\0';
        return 0;
    }
    make_links();
    return 0;  // srun would exit with 0 after a failure here: on_task tells
}

int on_task(spank_t spank) {
    if (spank_context() != S_CTX_REMOTE || (!is_used() && step.failure[0] == '\0')) return 0;
    int task = -1;
    uint32_t tasks = 0;
    char** environment = nullptr;
    int words = 0;
    char** command = nullptr;
    (void)spank_get_item(spank, S_JOB_ARGV, &words, &command);
    if (spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
        BELAY_FAIL("Slurm does not tell which task this is");
    if (step.failure[0] != '\0') {
        if (task <= 0) fprintf(stderr, "belay: %s: %s\n", node_name(), step.failure);
        _exit(1);
    }
    TaskContext context{.spank = spank,
                        .program = configuration.step,
                        .plan = step.plan,
                        .environment = environment,
                        .command = command,
                        .link = {step.link[0], step.link[1]},
                        .notices = step.notices[1],
                        .task = task,
                        .tasks = tasks,
                        .parent = step.daemon,
                        .must_be_prepared = !may_run_without_plan()};
    start_task(context);
    return 0;
}

int on_forked(spank_t spank) {
    uint32_t tasks = 0;
    if (step.link[1] < 0 || spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS) return 0;
    if (++step.forked_tasks < tasks) return 0;
    // Only belay-step may hold the other ends now, so that its end is seen; and only the tasks ours, so that
    // theirs is: as long as it lives it holds their output, and we would wait for each other.
    int* const ends[] = {&step.link[0], &step.link[1], &step.notices[1]};
    for (int* end : ends) {
        close(*end);
        *end = -1;
    }
    return 0;
}

int on_task_end(spank_t) {
    // The holder of the container cannot tell the user itself: holding the step's streams, it would keep the
    // step from ending.
    if (step.notices[0] >= 0)
        take_notices(step.notices[0], step.told, [](const char* text) {
            slurm_spank_log("%s%s: %s", env::kNoticePrefix, node_name(), text);
        });
    return 0;
}

}  // namespace belay::spank

#pragma GCC visibility push(default)
extern "C" {
int slurm_spank_init(spank_t spank, int count, char* words[]) {
    return belay::spank::on_init(spank, count, words);
}
int slurm_spank_init_post_opt(spank_t spank, int, char*[]) {
    return belay::spank::on_options(spank);
}
int slurm_spank_user_init(spank_t spank, int, char*[]) {
    return belay::spank::on_user(spank);
}
int slurm_spank_task_init(spank_t spank, int, char*[]) {
    return belay::spank::on_task(spank);
}
int slurm_spank_task_exit(spank_t spank, int, char*[]) {
    return belay::spank::on_task_end(spank);
}
int slurm_spank_job_epilog(spank_t spank, int count, char* words[]) {
    return belay::spank::on_job_end(spank, count, words);
}
int slurm_spank_task_post_fork(spank_t spank, int, char*[]) {
    return belay::spank::on_forked(spank);
}
}
#pragma GCC visibility pop
