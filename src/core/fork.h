// A new process of this program: the one place where Belay forks. What runs a program (process.h), a function
// whose answer is waited for (work.h), helpers of collectors, the recorder and a container's holder stand on
// it.
//
//   BELAY_TRY(process, fork_process({.name = "belay-gpu", .keep = {socket.get()}, .death_signal = SIGKILL},
//                                   [&] { return serve(socket.get()); }));
//
// Threads: where this process has others, the function may make async-signal-safe calls only (fork(2)): a
// lock that another thread held stays locked in the child. Belay forks such helpers before it starts threads.
//
// The kernel can keep a process from ending, also after SIGKILL, while it waits for a file server. So nothing
// here waits without a bound: a process that was killed gets kKillPatience to be gone and is then left
// behind, to be reaped when it ends (Process, reap_abandoned()).
#pragma once

#include "core/file.h"
#include "core/process.h"
#include "core/time.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::core {

// What the signals of this process become in the new one. Its handlers never run there, its mask is emptied.
enum class ChildSignals {
    kProgram,     // handlers become the default, and SIGPIPE; others that are ignored stay ignored (nohup)
    kDefault,     // all become the default
    kDeafHelper,  // all are ignored but faults, SIGCHLD and SIGKILL: it ends when it is killed or its work
                  // ends
};

struct ForkOptions {
    std::string name = {};  // as ps(1) shows it, at most 15 bytes; empty: as this process
    ChildSignals signals = ChildSignals::kProgram;
    bool null_streams = false;   // 0, 1 and 2 become /dev/null
    std::vector<int> keep = {};  // stay open under the same number; O_CLOEXEC stays as it is
    bool close_others = true;    // all from 3 on but `keep`
    bool new_process_group = false;
    bool new_session = false;  // implies new_process_group
    int death_signal = 0;      // sent when the thread that forked ends (prctl(2), PR_SET_PDEATHSIG)
    // Of fork_detached(): a process that waits for the end of the new one, however that comes, and then does
    // this. What the new one has left behind are its children by then. Empty: there is none.
    std::function<void()> afterwards = {};
    std::string afterwards_name = {};  // as ps(1) shows that process
    // Until it has to have begun. It closes what it inherited, and a file server may have to take what was
    // written to a file before that (close(2)).
    Duration set_up_time = std::chrono::seconds(30);
};

// Runs `body` in a child, whose exit status is what it returns; an exception in it ends the child with 125.
// Errors: kSystem, with the call that failed and the name; kTimedOut if it has not begun in time.
Result<Process> fork_process(const ForkOptions& options, const std::function<int()>& body);

// A process that is not a child of this one, known by pidfd: it is not killed when this goes out of scope.
class DetachedProcess {
  public:
    pid_t pid() const { return pid_; }
    // Becomes readable when it has ended.
    int pidfd() const { return pidfd_.get(); }
    // Whether it has ended within that time.
    bool has_ended_within(Duration time) const;
    // SIGKILL. Errors: kSystem; kTimedOut if it has not ended after kKillPatience: it waits in the kernel,
    // and is left behind.
    Result<> kill();

  private:
    friend Result<DetachedProcess> fork_detached(const ForkOptions&, const std::function<int()>&);
    DetachedProcess(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;
    Descriptor pidfd_;
};

// As fork_process, for what must not be a child of this process: that may become a program that waits for all
// its children. No death signal.
Result<DetachedProcess> fork_detached(const ForkOptions& options, const std::function<int()>& body);

}  // namespace belay::core
