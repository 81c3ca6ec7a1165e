#include "core/process.h"

#include "core/fork_child.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

int pidfd_send_signal(int pidfd, int signal) {
    return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
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

// Where the child looks for the program, in this order.
std::vector<std::string> candidates_of(std::string_view name, const std::string& path) {
    if (name.find('/') != std::string_view::npos) return {std::string(name)};
    std::vector<std::string> candidates;
    for (std::string_view directory : split(path, ':')) {
        std::error_code ignored;  // as seen from here: the child may start elsewhere
        candidates.push_back(fs::absolute(fs::path(directory.empty() ? "." : directory) / name, ignored));
    }
    return candidates;
}

// In the child. As execvp(3) and shells do, it goes on where a program is not there or is not for executing;
// one that may not be executed is told in the end, before those that are not there.
[[noreturn]] void become_program(const ChildPlan& plan, const std::vector<char*>& candidates,
                                 char* const* argv, char* const* environment) {
    int reason = ENOENT;
    for (char* candidate : candidates) {
        if (candidate == nullptr) break;
        execve(candidate, argv, environment);
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) fail_child(plan, ChildStep::kExec, errno);
        if (errno == EACCES || candidates.size() == 2) reason = errno;  // one, and the end
    }
    fail_child(plan, ChildStep::kExec, reason);
}

Failure not_in_path(std::string_view name, const std::string& path) {
    return system_error("{}: not found in PATH", name)
        .hint("install it, or give its path; PATH is " + path)
        .because(Cause::kNotFound);
}

Failure denied_program(const fs::path& program) {
    return errno_error(EACCES, fmt::format("cannot start {}", program.string()))
        .hint("is it a file with execute permission?");
}

Failure explain(const ChildFailure& failure, const Command& command, const std::string& path) {
    const int reason = failure.errno_value;
    std::string program = command.argv[0];
    if (failure.step == ChildStep::kDirectory)
        return errno_error(reason,
                           fmt::format("cannot start {} in {}", program, command.working_directory.string()));
    if (failure.step != ChildStep::kExec)
        return errno_error(reason, fmt::format("cannot start {}: {}", program, step_name(failure.step)));
    auto found = find_program(program, path);
    if (!found) return Failure(std::move(found.error()));
    program = *found;
    if (reason == EACCES) return denied_program(program);
    Failure error = errno_error(reason, fmt::format("cannot start {}", program));
    std::error_code ignored;
    if (reason == ENOENT && fs::exists(program, ignored))
        return std::move(error).hint("the file is there; the interpreter named in its first line is not");
    if (reason == ENOEXEC) return std::move(error).hint("a script needs a first line such as #!/bin/sh");
    return error;
}

// Those that did not end when they were killed. Function-local, so that there is no order of initialisation
// to mind.
struct Abandoned {
    std::mutex mutex;
    std::vector<Descriptor> pidfds;
};
Abandoned& abandoned() {
    static Abandoned all;
    return all;
}

bool reap_if_ended(const Descriptor& pidfd) {
    siginfo_t info{};
    if (waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG) != 0) return errno != EINTR;
    return info.si_pid != 0;
}

// Kills a child without a pidfd and reaps it; false where it is still there after kKillPatience: its program
// may lie on a file server that does not answer.
bool end_unwatched(pid_t pid) {
    ::kill(pid, SIGKILL);
    const auto deadline = Deadline::after(kKillPatience);
    for (;;) {
        const pid_t reaped = waitpid(pid, nullptr, WNOHANG);
        if (reaped != 0 && (reaped > 0 || errno != EINTR)) return true;
        if (deadline.is_over()) return false;
        usleep(500);
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
    if (path->empty()) return not_in_path(name, *path);  // not the working directory
    std::optional<fs::path> denied;
    for (std::string_view directory : split(*path, ':')) {
        fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
        if (name.empty()) continue;
        std::error_code ignored;
        const bool is_executable = access(candidate.c_str(), X_OK) == 0;
        if (!is_executable && errno == EACCES && !denied) denied = candidate;
        if (is_executable && fs::is_regular_file(candidate, ignored)) return fs::absolute(candidate, ignored);
    }
    if (denied) return denied_program(*denied);
    return not_in_path(name, *path);
}

size_t reap_abandoned() {
    Abandoned& all = abandoned();
    std::lock_guard lock(all.mutex);
    std::erase_if(all.pidfds, reap_if_ended);
    return all.pidfds.size();
}

Result<Process> spawn(const Command& command, const Deadline& deadline) {
    if (command.argv.empty() || command.argv[0].empty())
        return system_error("cannot start a command without a name");
    reap_abandoned();
    std::vector<std::string> environment = child_environment(command);
    const std::string path = *path_of(environment);
    const std::vector<std::string> candidates = candidates_of(command.argv[0], path);
    BELAY_TRY(status, make_status_channel());
    const std::vector<char*> programs = pointers(candidates);
    const std::vector<char*> argv = pointers(command.argv);
    const std::vector<char*> envp = pointers(environment);
    const ForkOptions options{.keep = command.keep_descriptors,
                              .close_others = false,
                              .new_process_group = command.new_process_group,
                              .new_session = command.new_session,
                              .death_signal = command.parent_death_signal};
    ChildPlan plan = plan_child(options, status);
    plan.pass_kept = true;
    plan.streams = {command.stdin_fd, command.stdout_fd, command.stderr_fd};
    if (!command.working_directory.empty()) plan.directory = command.working_directory.c_str();
    const pid_t pid = fork_blocked();
    if (pid == 0) {
        become_child(plan);
        become_program(plan, programs, argv.data(), envp.data());
    }
    if (pid < 0) return errno_error(errno, fmt::format("cannot start {}: fork", command.argv[0]));

    status.child.reset();
    Descriptor pidfd(open_pidfd(pid));  // the child is not reaped yet, so the id is its own
    const int pidfd_error = errno;
    if (!pidfd) {
        Error error =
            errno_error(pidfd_error, fmt::format("cannot watch {}: pidfd_open", command.argv[0])).error();
        if (!end_unwatched(pid))
            error = std::move(error).after(
                fmt::format("; process {} did not end after SIGKILL, and was left behind", pid));
        return std::unexpected(std::move(error));
    }
    Process process(pid, std::move(pidfd), command.new_process_group || command.new_session);
    auto failure = read_child_failure(status.parent.get(), deadline);
    if (failure && !*failure) return process;
    Error error = failure ? explain(**failure, command, path).error()
                          : std::move(failure.error()).context("cannot start " + command.argv[0]);
    if (auto ended = process.end(); !ended) error = std::move(error).also(ended.error());
    return std::unexpected(std::move(error));
}

Result<Process> adopt_child(pid_t pid) {
    Descriptor pidfd(open_pidfd(pid));
    if (!pidfd) return errno_error(errno, fmt::format("cannot watch process {}: pidfd_open", pid));
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
    if (pidfd_ && !status_) (void)end();
}

void Process::abandon() {
    if (!pidfd_ || status_) return;
    std::lock_guard lock(abandoned().mutex);
    abandoned().pidfds.push_back(std::move(pidfd_));
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
    const Deadline deadline = Deadline::after(timeout);
    for (;;) {
        const Duration left = deadline.left();
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
    return end();
}

Result<ExitStatus> Process::end() {
    if (status_) return *status_;
    BELAY_CHECK(kill_group(SIGKILL));
    BELAY_TRY(status, wait_for(kKillPatience));
    if (status) return *status;
    abandon();
    return system_error(
               "process {} did not end after SIGKILL: it is blocked in the kernel, and was left behind", pid_)
        .because(Cause::kTimedOut)
        .hint("it ends when the file server or the device that it waits for answers, or is unmounted");
}

}  // namespace belay::core
