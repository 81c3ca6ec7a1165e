#include "core/process.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// Called directly: glibc 2.36 declares these without extern "C", older ones do not have them.
int pidfd_open(pid_t pid) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}
int pidfd_send_signal(int pidfd, int signal) {
    return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

// What the child was doing when it failed, sent to the parent through the status pipe.
enum class Step : int { kGroup, kDescriptors, kDirectory, kExec };
struct ChildFailure {
    Step step;
    int errno_value;
};

// Everything the child needs, prepared before fork: between fork and exec nothing may allocate or lock,
// because another thread of the parent may have held the lock.
struct ChildPlan {
    const char* program;
    char* const* argv;
    char* const* environment;
    const char* directory;  // null: stay
    std::array<int, 3> standard;
    std::span<const int> keep;
    bool new_process_group;
    bool new_session;
    int parent_death_signal;
    pid_t parent;
    int status_fd;
};

[[noreturn]] void fail_child(const ChildPlan& plan, Step step) {
    ChildFailure failure{step, errno};
    [[maybe_unused]] ssize_t written = write(plan.status_fd, &failure, sizeof failure);
    _exit(127);
}

// Handlers of the parent must not run in the child; the mask is emptied only after they are gone.
void reset_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action{};
        if (sigaction(signal, nullptr, &action) != 0) continue;
        bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
        if (!handled && signal != SIGPIPE) continue;
        action = {};
        action.sa_handler = SIG_DFL;
        sigaction(signal, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Puts the sources on 0, 1, 2. Sources among 0..2 are moved away first, so that swapped ones do not overwrite
// each other.
bool place_standard_descriptors(std::array<int, 3> sources) {
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

[[noreturn]] void run_child(const ChildPlan& plan) {
    reset_signals();
    if (plan.new_session ? setsid() < 0 : plan.new_process_group && setpgid(0, 0) != 0)
        fail_child(plan, Step::kGroup);
    if (plan.parent_death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, plan.parent_death_signal);
        if (getppid() != plan.parent) _exit(127);  // the parent ended before the prctl
    }
    if (!place_standard_descriptors(plan.standard)) fail_child(plan, Step::kDescriptors);
    for (int fd : plan.keep)
        if (fcntl(fd, F_SETFD, 0) != 0) fail_child(plan, Step::kDescriptors);
    if (plan.directory != nullptr && chdir(plan.directory) != 0) fail_child(plan, Step::kDirectory);
    execve(plan.program, plan.argv, plan.environment);
    fail_child(plan, Step::kExec);
}

// A pipe whose ends are above 2 even where the parent runs with its standard descriptors closed.
Result<std::pair<Descriptor, Descriptor>> status_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot create a pipe");
    Descriptor reader(ends[0]), writer(ends[1]);
    for (Descriptor* end : {&reader, &writer}) {
        if (end->get() > 2) continue;
        Descriptor moved(fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
        if (!moved) return errno_error(errno, "cannot duplicate a descriptor");
        *end = std::move(moved);
    }
    return std::pair(std::move(reader), std::move(writer));
}

std::vector<std::string> child_environment(const Command& command) {
    Environment environment = command.environment ? *command.environment : current_environment();
    for (const auto& [name, value] : command.environment_changes) {
        if (value)
            environment[name] = *value;
        else
            environment.erase(name);
    }
    std::vector<std::string> entries;
    entries.reserve(environment.size());
    for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
    return entries;
}

std::optional<std::string> path_of(std::span<const std::string> environment) {
    for (const std::string& entry : environment)
        if (entry.starts_with("PATH=")) return entry.substr(5);
    return std::string(kDefaultPath);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> out;
    out.reserve(strings.size() + 1);
    for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
    out.push_back(nullptr);
    return out;
}

Failure explain(const ChildFailure& failure, const Command& command, const std::string& program) {
    int reason = failure.errno_value;
    switch (failure.step) {
        case Step::kGroup:
            return errno_error(reason, fmt::format("cannot start {}: process group", program));
        case Step::kDescriptors:
            return errno_error(reason, fmt::format("cannot start {}: descriptors", program));
        case Step::kDirectory:
            return errno_error(
                reason, fmt::format("cannot start {} in {}", program, command.working_directory.string()));
        case Step::kExec:
            break;
    }
    Failure error = errno_error(reason, fmt::format("cannot start {}", program));
    std::error_code ignored;
    if (reason == ENOENT && fs::exists(program, ignored))
        return std::move(error).hint("the file is there; the interpreter named in its first line is not");
    if (reason == ENOEXEC) return std::move(error).hint("a script needs a first line such as #!/bin/sh");
    if (reason == EACCES) return std::move(error).hint("is it a file with execute permission?");
    return error;
}

// Reads the child's report: nothing if exec succeeded, which closes the pipe.
std::optional<ChildFailure> read_failure(int fd) {
    ChildFailure failure{};
    ssize_t n;
    do n = read(fd, &failure, sizeof failure);
    while (n < 0 && errno == EINTR);
    if (n == static_cast<ssize_t>(sizeof failure)) return failure;
    return std::nullopt;
}

void reap(pid_t pid) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

Environment current_environment() {
    Environment out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        std::string_view text = *entry;
        size_t equals = text.find('=');
        if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return out;
}

std::optional<std::string> environment_variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::string ExitStatus::describe() const {
    if (signal == 0) return fmt::format("exit status {}", code);
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? fmt::format("signal {} (SIG{})", signal, name)
                           : fmt::format("signal {}", signal);
}

Result<fs::path> find_program(std::string_view name, std::optional<std::string> path) {
    if (name.find('/') != std::string_view::npos) return fs::path(name);
    if (!path) path = environment_variable("PATH").value_or(std::string(kDefaultPath));
    for (std::string_view directory : split(*path, ':')) {
        fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
        std::error_code ignored;
        if (!name.empty() && access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored))
            return fs::absolute(candidate, ignored);
    }
    return system_error("{}: not found in PATH", name).hint("install it, or give its path; PATH is " + *path);
}

Result<Process> spawn(const Command& command) {
    if (command.argv.empty()) return system_error("cannot start a command without a name");
    std::vector<std::string> environment = child_environment(command);
    BELAY_TRY(program_path, find_program(command.argv[0], path_of(environment)));
    std::string program = program_path.string();
    BELAY_TRY(status, status_pipe());
    auto& [reader, writer] = status;
    std::vector<char*> argv = pointers(command.argv);
    std::vector<char*> envp = pointers(environment);
    ChildPlan plan{
        .program = program.c_str(),
        .argv = argv.data(),
        .environment = envp.data(),
        .directory = command.working_directory.empty() ? nullptr : command.working_directory.c_str(),
        .standard = {command.stdin_fd, command.stdout_fd, command.stderr_fd},
        .keep = command.keep_descriptors,
        .new_process_group = command.new_process_group,
        .new_session = command.new_session,
        .parent_death_signal = command.parent_death_signal,
        .parent = getpid(),
        .status_fd = writer.get(),
    };

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) run_child(plan);
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return errno_error(fork_error, fmt::format("cannot start {}", program));

    writer.reset();
    Descriptor pidfd(pidfd_open(pid));  // the child is not reaped yet, so the id is its own
    int pidfd_error = errno;
    if (auto failure = read_failure(reader.get())) {
        reap(pid);
        return explain(*failure, command, program);
    }
    if (!pidfd) {
        ::kill(pid, SIGKILL);
        reap(pid);
        return errno_error(pidfd_error, fmt::format("cannot watch {}: pidfd_open", program));
    }
    fcntl(pidfd.get(), F_SETFD, FD_CLOEXEC);
    return Process(pid, std::move(pidfd), command.new_process_group || command.new_session);
}

Result<Process> adopt_child(pid_t pid) {
    Descriptor pidfd(pidfd_open(pid));
    if (!pidfd) return errno_error(errno, fmt::format("cannot watch process {}", pid));
    return Process(pid, std::move(pidfd), false);
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_),
      pidfd_(std::move(other.pidfd_)),
      leads_group_(other.leads_group_),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    pid_ = other.pid_;
    pidfd_ = std::move(other.pidfd_);
    leads_group_ = other.leads_group_;
    status_ = other.status_;
    return *this;
}

Process::~Process() {
    destroy();
}

void Process::destroy() {
    if (!pidfd_ || status_) return;
    if (kill_group(SIGKILL)) (void)wait();
}

Result<ExitStatus> Process::wait() {
    if (status_) return *status_;
    siginfo_t info{};
    while (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
        if (errno != EINTR) return errno_error(errno, fmt::format("cannot wait for process {}", pid_));
    }
    bool exited = info.si_code == CLD_EXITED;
    status_ = ExitStatus{.code = exited ? info.si_status : 0, .signal = exited ? 0 : info.si_status};
    return *status_;
}

Result<std::optional<ExitStatus>> Process::wait_for(Duration timeout) {
    if (status_) return status_;
    Duration end = system_clock().monotonic() + std::max(timeout, Duration::zero());
    for (;;) {
        Duration left = std::max(end - system_clock().monotonic(), Duration::zero());
        timespec wait_time{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
        pollfd entry{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
        int ready = ppoll(&entry, 1, &wait_time, nullptr);
        if (ready > 0) break;
        if (ready == 0) return std::nullopt;
        if (errno != EINTR) return errno_error(errno, fmt::format("cannot wait for process {}", pid_));
    }
    BELAY_TRY(status, wait());
    return std::optional(status);
}

Result<> Process::kill(int signal) {
    if (status_ || pidfd_send_signal(pidfd_.get(), signal) == 0 || errno == ESRCH) return {};
    return errno_error(errno, fmt::format("cannot send signal {} to process {}", signal, pid_));
}

Result<> Process::kill_group(int signal) {
    if (status_) return {};
    if (!leads_group_) return kill(signal);
    // Not reaped yet, so the id cannot belong to another group.
    if (::kill(-pid_, signal) == 0 || errno == ESRCH) return {};
    return errno_error(errno, fmt::format("cannot send signal {} to process group {}", signal, pid_));
}

Result<ExitStatus> Process::stop(Duration grace) {
    BELAY_CHECK(kill_group(SIGTERM));
    BELAY_TRY(status, wait_for(grace));
    if (status) return *status;
    BELAY_CHECK(kill_group(SIGKILL));
    return wait();
}

}  // namespace belay::core
