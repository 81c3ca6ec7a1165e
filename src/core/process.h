// Child processes, known by pidfd: no signal and no wait can meet a stranger that got a recycled process id.
//
//   Command command{.argv = {"scontrol", "show", "node"}};
//   BELAY_TRY(output, run(command, {.timeout = 10s}));        // captured, bounded in time and size
//   if (!output.status.success()) ...
//
//   BELAY_TRY(child, spawn({.argv = argv, .stdout_fd = log.get(), .new_process_group = true}));
//   BELAY_TRY(status, child.wait());
//
// The program must not ignore SIGCHLD: the kernel would then reap children before they are asked for.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/file.h"
#include "core/time.h"

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::core {

struct ForkOptions;  // core/fork.h

using Environment = std::map<std::string, std::string>;

// The environment of this process. Entries without "=" are left out.
Environment current_environment();

// The value of a variable of this process, or nothing if it is unset or empty.
std::optional<std::string> environment_variable(const std::string& name);

// What to start. Descriptors are borrowed: they stay open here and the caller's.
struct Command {
    static constexpr int kInherit = -1;

    std::vector<std::string> argv = {};           // argv[0] without "/" is searched in the child's PATH
    std::optional<Environment> environment = {};  // instead of this process's
    std::map<std::string, std::optional<std::string>> environment_changes = {};  // on top; nothing = unset
    std::filesystem::path working_directory = {};                                // empty: this process's
    int stdin_fd = kInherit;
    int stdout_fd = kInherit;
    int stderr_fd = kInherit;
    // Stay open in the child under the same number, in spite of O_CLOEXEC.
    std::vector<int> keep_descriptors = {};
    bool new_process_group = false;  // the child leads a group of its own, which kill_group() reaches
    bool new_session = false;        // and a session without terminal; implies new_process_group
    int parent_death_signal = 0;     // sent when the thread that spawned ends (prctl(2), PR_SET_PDEATHSIG)
};

// How a process ended.
struct ExitStatus {
    int code = 0;    // of exit(2); 0 if a signal ended it
    int signal = 0;  // that ended it; 0 if it exited

    bool success() const { return code == 0 && signal == 0; }
    int shell_status() const { return signal != 0 ? 128 + signal : code; }
    std::string describe() const;  // "exit status 3", "signal 9 (SIGKILL)"
    bool operator==(const ExitStatus&) const = default;
};

// How long a process that got SIGKILL is waited for. One that waits in the kernel, for a file server that
// does not answer, outlives the signal: it is left behind then, and whoever waited is told so.
inline constexpr Duration kKillPatience = std::chrono::milliseconds(500);

// Reaps those left behind that have ended since; returns how many have not. Every start of a process calls
// it.
size_t reap_abandoned();

// Owns a child. The destructor of one that still runs kills it (its whole group, if it leads one) with
// SIGKILL and reaps it, so that no child is left behind by an early return, but waits no longer than
// kKillPatience; detach() is for one that lives on.
class Process {
  public:
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    pid_t pid() const { return pid_; }
    // Becomes readable (poll, epoll) when the process has ended.
    int pidfd() const { return pidfd_.get(); }

    // Waits for the end and reaps; later calls answer the same again. Errors: kSystem.
    Result<ExitStatus> wait();
    // As wait(), but nothing if it has not ended within `timeout`; zero only looks.
    Result<std::optional<ExitStatus>> wait_for(Duration timeout);

    // A process that has ended is no error.
    Result<> kill(int signal);
    // The group that the process leads, also members that outlive it: call it before a wait has reported the
    // end (pidfd() tells of the end without reaping), afterwards it does nothing. Without a group of its own
    // as kill().
    Result<> kill_group(int signal);
    // SIGTERM, and SIGKILL if it has not ended after `grace`; to the group where there is one. Errors: as
    // end().
    Result<ExitStatus> stop(Duration grace);
    // SIGKILL, to the group where there is one, and its end. Errors: kSystem, kTimedOut if it has not ended
    // after kKillPatience; it is left behind then, and this object is as after detach().
    Result<ExitStatus> end();

    // For one that was killed and has not ended: a later start of a process reaps it (reap_abandoned).
    void abandon();
    // Lets the process live on, unwatched. It becomes a zombie at its end until this process ends.
    void detach() { pidfd_.reset(); }

  private:
    friend Result<Process> spawn(const Command& command, const Deadline& deadline);
    friend Result<Process> fork_process(const ForkOptions& options, const std::function<int()>& body);
    friend Result<Process> adopt_child(pid_t pid);
    Process(pid_t pid, Descriptor pidfd, bool leads_group)
        : pid_(pid), pidfd_(std::move(pidfd)), leads_group_(leads_group) {}
    void destroy();

    pid_t pid_ = -1;
    Descriptor pidfd_;
    bool leads_group_ = false;
    std::optional<ExitStatus> status_;
};

// Starts a process and returns once it has become the new program. The child gets an empty signal mask and
// the default action of SIGPIPE; other ignored signals stay ignored (nohup). Errors: kSystem, with the
// program or directory that could not be used; a program that is not there is reported here, not by an exit
// status; kTimedOut if it has not become the program until the deadline (its file may be on a server that
// does not answer).
Result<Process> spawn(const Command& command, const Deadline& deadline = Deadline::never());

// Owns a child that this process has got otherwise: forked before it became this program. Errors: kSystem.
Result<Process> adopt_child(pid_t pid);

struct RunOptions {
    std::optional<Duration> timeout = {};    // from the start; then SIGKILL and an error (kTimedOut)
    size_t output_limit = size_t{64} << 20;  // bytes, of stdout and stderr each; then SIGKILL and an error
    std::string input = {};                  // what the program reads on stdin
};

struct Output {
    ExitStatus status;
    std::string out;
    std::string err;
};

// Runs to the end and captures stdout and stderr, whose descriptors of `command` must be kInherit. Stdin is
// `input` unless the command names a descriptor. What a grandchild writes after the program's end is not
// waited for. Errors: kSystem as of spawn, and when time or output were too much, naming the command. An exit
// status other than 0 is not an error.
Result<Output> run(Command command, const RunOptions& options = {});

// As run, where only success will do: stdout, or kSystem with the exit status and the last line of stderr.
Result<std::string> output_of(Command command, const RunOptions& options = {});

// Ends this process as another one did, so that whoever waits for it sees the same; returns the exit status
// to end with where that was no signal. No core file is written: the other has left its own, if any.
int end_like(const ExitStatus& status);

// The executable that a shell would run for `name`: itself if it has a "/", else the first in `path` (PATH of
// this process if not given). Errors: kSystem "NAME: not found in PATH".
Result<std::filesystem::path> find_program(std::string_view name, std::optional<std::string> path = {});

// The command as one would type it in a shell, quoted where needed.
std::string quote_command(std::span<const std::string> argv);

}  // namespace belay::core
