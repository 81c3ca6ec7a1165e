#include "core/fork.h"

#include "core/activity.h"
#include "core/deadline.h"
#include "core/fork_child.h"
#include "core/program.h"
#include "core/tell.h"
#include "core/utf8.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
constexpr int kUncaughtException = 125;
constexpr rlim_t kMostClosedSingly = 1 << 16;

bool stays_default(int signal) {
    return signal == SIGCHLD || std::ranges::find(kFaults, signal) != std::end(kFaults);
}

// The mask is emptied only after the handlers of the parent are gone.
void set_signals(ChildSignals signals) {
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action{};
        if (sigaction(signal, nullptr, &action) != 0) continue;
        const bool ignored = action.sa_handler == SIG_IGN;
        action = {};
        action.sa_handler = SIG_DFL;
        if (signals == ChildSignals::kDeafHelper && !stays_default(signal)) action.sa_handler = SIG_IGN;
        if (signals == ChildSignals::kProgram && ignored && signal != SIGPIPE) continue;
        sigaction(signal, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Puts the sources on 0, 1, 2. Sources among 0..2 are moved away first, so that swapped ones do not overwrite
// each other.
bool place_streams(std::array<int, 3> sources) {
    for (int target = 0; target < 3; ++target) {
        int& source = sources[static_cast<size_t>(target)];
        if (source < 0 || source > 2 || source == target) continue;
        source = fcntl(source, F_DUPFD_CLOEXEC, 3);
        if (source < 0) return false;
    }
    for (int target = 0; target < 3; ++target) {
        int source = sources[static_cast<size_t>(target)];
        if (source < 0) continue;
        if (source == target ? fcntl(target, F_SETFD, 0) != 0 : dup2(source, target) < 0) return false;
    }
    return true;
}

bool place_null_streams() {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return false;
    bool placed = place_streams({null, null, null});
    if (null > STDERR_FILENO) close(null);
    return placed;
}

void close_between(int first, int last) {  // both included; -1: to the end
    if (last >= 0 && first > last) return;
    if (close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) return;
    rlimit limit{};  // Linux before 5.9
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t end = std::min(last < 0 ? limit.rlim_cur : static_cast<rlim_t>(last) + 1, kMostClosedSingly);
    for (rlim_t fd = static_cast<rlim_t>(first); fd < end; ++fd) close(static_cast<int>(fd));
}

void close_all_but(const std::vector<int>& kept_in_order) {
    int next = STDERR_FILENO + 1;
    for (int fd : kept_in_order) {
        if (fd < next) continue;
        close_between(next, fd - 1);
        next = fd + 1;
    }
    close_between(next, -1);
}

// What the body must not do: leave by an exception, whose handlers are the parent's.
[[noreturn]] void run_body(const std::function<int()>& body) {
    int status = kUncaughtException;
    if (auto thrown = exception_of([&] { status = body(); })) {
        note_activity("end:", thrown->message());  // where nobody sees the stream
        tell("a process cannot go on: {}", printable(in_one_line(*thrown)));
    }
    _exit(status);
}

std::string called(const ForkOptions& options) {
    return options.name.empty() ? "a process" : "the process " + options.name;
}

Failure cannot_start(const ForkOptions& options, std::string_view what, int errno_value) {
    return errno_error(errno_value, fmt::format("cannot start {}: {}", called(options), what));
}

// Of a child that is about to end, or was killed. One that does not is left behind, and said so.
Result<> reap(pid_t pid, Duration patience) {
    const Deadline deadline = Deadline::after(patience);
    for (;;) {
        const pid_t ended = waitpid(pid, nullptr, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) return {};
        if (deadline.is_over()) break;
        usleep(100);
    }
    BELAY_TRY(child, adopt_child(pid));
    BELAY_CHECK(child.end());
    return {};
}

// In the child of fork_detached(): returns in a child of its own, which is nobody's.
void fork_and_leave(const ChildPlan& plan) {
    const pid_t child = fork();
    if (child < 0) fail_child(plan, ChildStep::kFork, errno);
    if (child > 0) _exit(0);
}

// Waits for the process that was asked for, however it ends.
[[noreturn]] void do_afterwards(const ForkOptions& options, pid_t process) {
    const ForkOptions own{.name = options.afterwards_name,
                          .signals = ChildSignals::kDeafHelper,
                          .null_streams = true,
                          .new_session = true};
    become_child(ChildPlan{.options = &own});
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    run_body([&] {
        options.afterwards();
        return 0;
    });
}

// Returns in the process that was asked for, once it is known by pidfd: until then its id could become a
// stranger's.
void fork_introduced(const ChildPlan& plan, int introduction) {
    if (plan.options->afterwards && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        fail_child(plan, ChildStep::kFork, errno);
    const pid_t process = fork();
    if (process < 0) fail_child(plan, ChildStep::kFork, errno);
    if (process > 0) {
        if (send(introduction, &process, sizeof process, MSG_NOSIGNAL) < 0)
            fail_child(plan, ChildStep::kIntroduction, errno);
        if (plan.options->afterwards) do_afterwards(*plan.options, process);
        _exit(0);
    }
    char known = 0;
    const ssize_t received = recv(introduction, &known, 1, 0);
    if (received < 0) fail_child(plan, ChildStep::kIntroduction, errno);
    if (received == 0) _exit(127);  // who started us has given up, and says why
}

// -1 with errno where nobody introduced a process until the deadline.
pid_t read_introduction(int introduction, const Deadline& deadline) {
    for (;;) {
        pollfd entry{.fd = introduction, .events = POLLIN, .revents = 0};
        const int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0 && !deadline.is_over()) continue;
        pid_t process = -1;
        const ssize_t size = ready > 0 ? recv(introduction, &process, sizeof process, MSG_DONTWAIT) : -1;
        if (size == static_cast<ssize_t>(sizeof process)) return process;
        if (ready == 0) errno = ETIMEDOUT;
        if (ready > 0 && size >= 0) errno = ECONNRESET;
        return -1;
    }
}

// What the child says or does not say comes before what failed here.
Error set_up_error(const ForkOptions& options, const Result<std::optional<ChildFailure>>& failure,
                   std::string_view failed_here, int errno_value) {
    if (!failure) return Error(failure.error()).context("cannot start " + called(options));
    if (*failure) return cannot_start(options, step_name((*failure)->step), (*failure)->errno_value).error();
    return cannot_start(options, failed_here, errno_value).error();
}

}  // namespace

std::string_view step_name(ChildStep step) {
    switch (step) {
        case ChildStep::kFork:
            return "fork";
        case ChildStep::kIntroduction:
            return "introduction";
        case ChildStep::kGroup:
            return "process group";
        case ChildStep::kStreams:
            return "standard streams";
        case ChildStep::kDescriptors:
            return "descriptors";
        case ChildStep::kDirectory:
            return "working directory";
        case ChildStep::kExec:
            break;
    }
    return "program";
}

// Called directly: glibc 2.36 declares it without extern "C", older ones do not have it.
int open_pidfd(pid_t pid) {
    int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pidfd >= 0) fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    return pidfd;
}

Result<StatusChannel> make_status_channel() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error(errno, "cannot make a socket pair");
    StatusChannel channel{Descriptor(ends[0]), Descriptor(ends[1])};
    for (Descriptor* end : {&channel.parent, &channel.child}) {
        if (end->get() > STDERR_FILENO) continue;
        Descriptor moved(fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        if (!moved) return errno_error(errno, "cannot duplicate a descriptor");
        *end = std::move(moved);
    }
    return channel;
}

ChildPlan plan_child(const ForkOptions& options, const StatusChannel& status) {
    ChildPlan plan{
        .options = &options, .kept = options.keep, .parent = getpid(), .status = status.child.get()};
    plan.kept.push_back(plan.status);
    std::ranges::sort(plan.kept);
    return plan;
}

pid_t fork_blocked() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) return 0;
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = reason;
    return pid;
}

void fail_child(const ChildPlan& plan, ChildStep step, int errno_value) {
    ChildFailure failure{step, errno_value};
    [[maybe_unused]] ssize_t written = send(plan.status, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(127);
}

void become_child(const ChildPlan& plan) {
    const ForkOptions& options = *plan.options;
    set_signals(options.signals);
    if (options.new_session ? setsid() < 0 : options.new_process_group && setpgid(0, 0) != 0)
        fail_child(plan, ChildStep::kGroup, errno);
    if (options.death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, options.death_signal);
        if (getppid() != plan.parent) _exit(127);  // the parent ended before the prctl
    }
    if (!options.name.empty()) prctl(PR_SET_NAME, options.name.c_str());
    if (options.null_streams ? !place_null_streams() : !place_streams(plan.streams))
        fail_child(plan, ChildStep::kStreams, errno);
    if (options.close_others) close_all_but(plan.kept);
    for (int fd : options.keep)
        if ((plan.pass_kept ? fcntl(fd, F_SETFD, 0) : fcntl(fd, F_GETFD)) < 0)
            fail_child(plan, ChildStep::kDescriptors, errno);
    if (plan.directory != nullptr && chdir(plan.directory) != 0)
        fail_child(plan, ChildStep::kDirectory, errno);
}

Result<std::optional<ChildFailure>> read_child_failure(int status, const Deadline& deadline) {
    for (;;) {
        pollfd entry{.fd = status, .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno != EINTR) return errno_error(errno, "cannot wait for a new process");
        if (ready < 0) continue;
        if (ready == 0) {
            if (!deadline.is_over()) continue;
            return system_error("the new process did not start in time").because(Cause::kTimedOut);
        }
        ChildFailure failure{};
        ssize_t size = recv(status, &failure, sizeof failure, MSG_DONTWAIT);
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (size == static_cast<ssize_t>(sizeof failure)) return std::optional(failure);
        return std::optional<ChildFailure>();
    }
}

Result<Process> fork_process(const ForkOptions& options, const std::function<int()>& body) {
    reap_abandoned();
    BELAY_TRY(status, make_status_channel());
    const ChildPlan plan = plan_child(options, status);
    const pid_t pid = fork_blocked();
    if (pid == 0) {
        become_child(plan);
        close(plan.status);
        run_body(body);
    }
    if (pid < 0) return cannot_start(options, "fork", errno);
    status.child.reset();
    Descriptor pidfd(open_pidfd(pid));  // the child is not reaped yet, so the id is its own
    const int pidfd_error = errno;
    auto failure = read_child_failure(status.parent.get(), Deadline::after(options.set_up_time));
    if (pidfd && failure && !*failure)
        return Process(pid, std::move(pidfd), options.new_process_group || options.new_session);
    Error error = set_up_error(options, failure, "pidfd_open", pidfd_error);
    ::kill(pid, SIGKILL);
    if (auto gone = reap(pid, kKillPatience); !gone) error = std::move(error).also(gone.error());
    return std::unexpected(std::move(error));
}

Result<DetachedProcess> fork_detached(const ForkOptions& options, const std::function<int()>& body) {
    BELAY_TRY(status, make_status_channel());
    BELAY_TRY(introduction, make_status_channel());
    ForkOptions first_options = options;
    first_options.death_signal = 0;
    ChildPlan plan = plan_child(first_options, status);
    const pid_t first = fork_blocked();
    if (first == 0) {
        introduction.parent.reset();
        if (options.afterwards) fork_and_leave(plan);
        fork_introduced(plan, introduction.child.get());
        introduction.child.reset();
        become_child(plan);
        close(plan.status);
        run_body(body);
    }
    if (first < 0) return cannot_start(options, "fork", errno);
    // It does nothing but fork; at its end it closes what it inherited.
    auto first_gone = reap(first, options.set_up_time);
    status.child.reset();
    introduction.child.reset();
    Descriptor pidfd;
    std::string_view failed;
    const pid_t pid = read_introduction(introduction.parent.get(), Deadline::after(options.set_up_time));
    if (pid < 0)
        failed = step_name(ChildStep::kIntroduction);  // NOLINT(bugprone-branch-clone): in order of the steps
    else if (pidfd = Descriptor(open_pidfd(pid)); !pidfd)
        failed = "pidfd_open";
    else if (send(introduction.parent.get(), "k", 1, MSG_NOSIGNAL) != 1)
        failed = step_name(ChildStep::kIntroduction);
    const int reason = errno;
    introduction.parent.reset();
    auto failure = read_child_failure(status.parent.get(), Deadline::after(options.set_up_time));
    if (failure && !*failure && failed.empty()) return DetachedProcess(pid, std::move(pidfd));
    Error error = set_up_error(options, failure, failed, reason);
    if (pidfd && !failure)
        if (auto killed = DetachedProcess(pid, std::move(pidfd)).kill(); !killed)
            error = std::move(error).also(killed.error());
    if (!first_gone) error = std::move(error).also(first_gone.error());
    return std::unexpected(std::move(error));
}

bool DetachedProcess::has_ended_within(Duration time) const {
    const Deadline deadline = Deadline::after(time);
    for (;;) {
        pollfd entry{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) return true;
        if (ready == 0 && deadline.is_over()) return false;
        if (ready < 0 && errno != EINTR) return false;
    }
}

Result<> DetachedProcess::kill() {
    if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        return errno_error(errno, fmt::format("cannot kill process {}", pid_));
    if (has_ended_within(kKillPatience)) return {};
    return system_error("process {} did not end after SIGKILL", pid_)
        .because(Cause::kTimedOut)
        .hint(
            "it is blocked in the kernel, and was left behind; it ends when the file server that it waits "
            "for "
            "answers");
}

}  // namespace belay::core
