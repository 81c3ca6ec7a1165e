#include "spank/plugin/task.h"

extern "C" {
#include <slurm/spank.h>
}

#include "spank/plain/instruction.h"
#include "spank/plain/packet.h"
#include "spank/plain/plan.h"
#include "spank/plain/words.h"
#include "spank/plugin/plugin.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::spank {

namespace {

[[noreturn]] void refuse(const char* what, int error = 0) {
    fprintf(stderr, error == 0 ? "belay: %s: %s\n" : "belay: %s: %s: %s\n", node_name(), what,
            strerror(error));
    _exit(1);
}

// Ends with slurmstepd: nobody else would end it. After anything that changes the process's identity again.
void end_with(int parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it ended before the prctl
}

char** arguments_of(const TaskContext& context, const char* verb, const int* numbers, size_t count) {
    char** arguments = program_arguments(verb, numbers, count, context.command);
    if (arguments == nullptr) refuse("no memory");
    return arguments;
}

// belay-step is no child of the task, whose program may wait for all its children.
void start_node(const TaskContext& context, char** environment) {
    const int numbers[] = {context.link[1], static_cast<int>(context.tasks), context.parent, context.notices};
    char** arguments = arguments_of(context, "node", numbers, 4);
    pid_t child = fork();
    if (child < 0) refuse("cannot fork", errno);
    if (child == 0) {
        pid_t second = fork();
        if (second != 0) _exit(second < 0 ? errno : 0);
        close(context.link[0]);
        fcntl(context.link[1], F_SETFD, 0);
        fcntl(context.notices, F_SETFD, 0);
        execve(context.program, arguments, environment);
        fprintf(stderr, "belay: %s: %s: %s\n", node_name(), context.program, strerror(errno));
        _exit(1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) refuse("cannot fork", WEXITSTATUS(status));
}

// What the two waits below may end with, but for success.
const char* meaning_of(int error) {
    switch (error) {
        case ETIMEDOUT:
            return "the step was not prepared in time";
        case EPIPE:
            return "belay-step ended without an answer";
        case EPROTO:
            return "belay-step and the plugin are of different versions: install the same version of both";
        default:
            return strerror(error);
    }
}

// 0 when belay-step lets the tasks of all nodes start, ECANCELED where it does not, having said why.
int take_offer(const TaskContext& context, Packet& offer) {
    int64_t give_up = monotonic_milliseconds() + int64_t{plan_seconds(context.plan)} * 1000;
    if (int error = look_at_packet(context.link[0], give_up, offer)) return error;
    if (offer.verdict == kRefuse) return ECANCELED;
    char verdict = 0;
    if (int error = take_byte(offer.descriptors[kStartPipe], give_up, verdict)) return error;
    return verdict == kGo ? 0 : ECANCELED;
}

// False where the task is to run without what belay-step would have offered.
bool wait_for_start(const TaskContext& context, Packet& offer) {
    const int error = take_offer(context, offer);
    if (error == 0) return true;
    // What all tasks of the node see is said by one.
    if (error != ECANCELED && context.task == 0)
        fprintf(stderr, "belay: %s: cannot start the tasks: %s%s\n", node_name(), meaning_of(error),
                context.must_be_prepared ? "" : kNotRecorded);
    if (context.must_be_prepared) _exit(1);
    return false;
}

char* read_instructions(int file, size_t& length) {
    char* text = static_cast<char*>(malloc(kLongestInstructions + 2));
    if (text == nullptr) refuse("no memory");
    length = 0;
    for (;;) {
        ssize_t size =
            pread(file, text + length, kLongestInstructions + 1 - length, static_cast<off_t>(length));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) refuse("cannot read the instructions", errno);
        if (size == 0) break;
        length += static_cast<size_t>(size);
    }
    if (length > kLongestInstructions) refuse("the instructions are longer than belay-step makes them");
    text[length] = '\0';
    return text;
}

void set_variable(const TaskContext& context, const Instruction& wanted) {
    int overwrite = wanted.kind == kSetVariable ? 1 : 0;
    spank_err_t error = spank_setenv(context.spank, wanted.name, wanted.value, overwrite);
    if (error == ESPANK_SUCCESS || (overwrite == 0 && error == ESPANK_ENV_EXISTS)) return;
    fprintf(stderr, "belay: %s: cannot set the variable %s: %s\n", node_name(), wanted.name,
            spank_strerror(error));
    _exit(1);
}

// What the instructions say beyond variables, which are set at once.
struct Orders {
    const char* workdir;  // in the container; nothing without one
    bool recorded;
};

Orders obey(const TaskContext& context, char* text, const char* end) {
    Orders orders{nullptr, false};
    while (text < end) {
        Instruction instruction{};
        if (const char* mistake = take_instruction(text, end, instruction)) refuse(mistake);
        switch (instruction.kind) {
            case kUnsetVariable:
                spank_unsetenv(context.spank, instruction.name);
                break;
            case kJoinContainer:
                orders.workdir = instruction.directory;
                break;
            case kSupervise:
                orders.recorded = true;
                break;
            default:
                set_variable(context, instruction);
        }
    }
    return orders;
}

void join(const Packet& offer, const char* workdir) {
    if (offer.count < kMostDescriptors) refuse("belay-step gave no container");
    if (setns(offer.descriptors[kUserNamespace], CLONE_NEWUSER) != 0)
        refuse("cannot join the container's user namespace", errno);
    if (setns(offer.descriptors[kMountNamespace], CLONE_NEWNS) != 0)
        refuse("cannot join the container's mounts", errno);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        refuse("cannot give up gaining privileges in the container", errno);
    if (chdir(workdir) != 0) refuse(workdir, errno);  // belay-step has tried it
}

// From here on the process that Slurm knows is the supervisor, and the task its child: what happens to
// recording does not reach the task, but its output passes through. Returns in the child, with what connects
// it to the supervisor; or, where that cannot be started, -1 in the process that it was called in.
int supervise(const TaskContext& context, char** environment) {
    int out[2];
    int err[2];
    int control[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0)
        refuse("cannot make a pipe", errno);
    pid_t task = fork();
    if (task < 0) refuse("cannot fork", errno);
    if (task > 0) {
        const int numbers[] = {static_cast<int>(task), out[0], err[0], control[0]};
        for (int i = 1; i < 4; ++i) fcntl(numbers[i], F_SETFD, 0);
        char** arguments = arguments_of(context, "supervise", numbers, 4);
        execve(context.program, arguments, environment);
        fprintf(stderr, "belay: %s: cannot start the supervisor: %s%s\n", node_name(), strerror(errno),
                kNotRecorded);
        kill(task, SIGKILL);
        while (waitpid(task, nullptr, 0) < 0 && errno == EINTR) {
        }
        for (const int* ends : {out, err, control})
            for (int i = 0; i < 2; ++i) close(ends[i]);
        return -1;
    }
    // The supervisor's ends are not ours to hold: its end must show.
    close(out[0]);
    close(err[0]);
    close(control[0]);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    char ready = 0;
    while (read(control[1], &ready, 1) < 0 && errno == EINTR) {
    }
    if (ready == 0) _exit(1);  // the supervisor has said why
    return control[1];
}

// What the task itself sees as its system: the supervisor notes it.
void report_system(int control) {
    int file = open("/etc/os-release", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[4096];
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text);
    if (file >= 0) close(file);
    if (size > 0 && send(control, text, static_cast<size_t>(size), MSG_NOSIGNAL) < 0) {
        // Without a supervisor that listens there is nothing to note it in.
    }
    close(control);
}

}  // namespace

void start_task(const TaskContext& context) {
    end_with(context.parent);
    // While it waits it can be cancelled: proctrack/linuxproc signals no process that is called slurmstepd
    // (Slurm, kill_tree.c), and Slurm drains nodes whose steps do not end.
    prctl(PR_SET_NAME, "belay-task");
    char** environment = program_environment(context.environment, context.plan);
    if (environment == nullptr) refuse("no memory");
    if (context.task == 0) start_node(context, environment);
    close(context.link[1]);
    close(context.notices);
    Packet offer;
    if (!wait_for_start(context, offer)) {
        close(context.link[0]);
        return;
    }
    size_t length = 0;
    char* instructions = read_instructions(offer.descriptors[kInstructionFile], length);
    Orders orders = obey(context, instructions, instructions + length);
    const int supervisor = getpid();
    int control = orders.recorded ? supervise(context, environment) : -1;
    int parent = control >= 0 ? supervisor : context.parent;
    if (orders.workdir != nullptr) join(offer, orders.workdir);
    end_with(parent);  // setns(2) may have cleared it
    if (control >= 0) report_system(control);
    free(instructions);
    for (int i = 0; i < offer.count; ++i) close(offer.descriptors[i]);
    close(context.link[0]);
}

}  // namespace belay::spank
