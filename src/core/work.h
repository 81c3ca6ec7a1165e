// A function in a process of its own, whose answer is waited for until a deadline and no longer: what may
// hang (a file server that does not answer, a name service) or crash ends there and not here. Its result, or
// its whole error, comes back.
//
//   BELAY_TRY(work, Work::start({.what = "reading the configuration"}, [&] { return read_all(files); }));
//   BELAY_TRY(text, work.finish(Deadline::after(10s)));
//   // belay: reading the configuration: no answer within 10.0 s (at: open /home/ada/.config/belay/a.toml)
//
// The rule about threads is that of core/fork.h: the function allocates, so start it where this process has
// no other thread, or where those are known to hold no lock that it needs. The child has no descriptor but
// `keep` and its standard streams, and of pipes and sockets not even those, so that one that is left behind
// holds nothing of a job.
#pragma once

#include "core/activity.h"
#include "core/deadline.h"
#include "core/process.h"
#include "core/stream_relay.h"

#include <functional>
#include <string>
#include <vector>

namespace belay::core {

enum class WorkStreams {
    kNull,  // /dev/null
    kOurs,  // this process's; what goes to a pipe or socket is carried on by this process (stream_relay.h)
};

struct WorkOptions {
    std::string what;                 // for messages: "reading the configuration"; may be empty
    std::string name = "belay-work";  // of the process
    std::vector<int> keep = {};       // descriptors that the function uses
    bool keep_all = false;            // all of this process's: the user may name any (/dev/fd/63)
    size_t limit = size_t{16} << 20;  // bytes of the answer
    WorkStreams streams = WorkStreams::kNull;
};

class Work {
  public:
    using Function = std::function<Result<std::string>()>;

    // Errors: kSystem where no process can be started.
    static Result<Work> start(WorkOptions options, const Function& function);
    Work(Work&&) noexcept = default;
    Work& operator=(Work&&) = delete;

    // Can be read when poll_result() has something to do; -1 once that has said true.
    int descriptor() const { return pipe_.get(); }
    // Takes what is there; true once the answer is complete or the process has ended without one.
    bool poll_result();
    // The answer, after poll_result() said so. Errors: the function's own; kSystem, kEnded, with how the
    // process ended.
    Result<std::string> result();
    // Waits for it. Errors: as result(); kSystem, kTimedOut at the deadline, with what did not answer: the
    // process is killed then, and left behind if it does not end.
    Result<std::string> finish(const Deadline& deadline);
    // Waits for it as long as it takes, unless one file does not answer it for `patience` (stall_watch.h).
    // What comes through `signals`, a signalfd that does not block, is sent on to the process, but not what a
    // terminal sends to both. Errors: as
    // finish(); kTimedOut is "WHAT: cannot open FILE: no answer within 30.0 s".
    Result<std::string> finish_unless_stalled(Duration patience, const Descriptor& signals = {});
    // Kills it; the error that finish() gives at a deadline that was `allowed` long.
    Error give_up(Duration allowed);

    // With which the process ended by itself, after an error because of kEnded; nothing where a signal ended
    // it.
    std::optional<int> exit_code();
    // Whether a signal that came to finish_unless_stalled() ended it, and which one came last.
    bool was_ended_by_passed_signal();
    int passed_signal() const { return passed_signal_; }

    pid_t pid() const { return process_.pid(); }
    // What it does right now: the file that it waits for (file_call.h), or what it says of itself
    // (activity.h). After give_up(), what it did then.
    std::string activity() const;

  private:
    Work(WorkOptions options, Process process, Descriptor pipe, Activity activity, StreamRelay relay)
        : options_(std::move(options)),
          process_(std::move(process)),
          pipe_(std::move(pipe)),
          activity_(std::move(activity)),
          relay_(std::move(relay)) {}
    std::optional<std::string_view> answer() const;
    Result<> wait_for_something(int milliseconds, const Descriptor& signals = {});
    void pass_on(const Descriptor& signals);
    std::string about(std::string_view text) const;

    WorkOptions options_;
    Process process_;
    Descriptor pipe_;
    Activity activity_;
    StreamRelay relay_;
    std::string received_;
    bool ended_ = false;
    int passed_signal_ = 0;  // the last one
    std::optional<std::string> last_activity_;
};

// Start and finish in one.
Result<std::string> run_within(Duration allowed, WorkOptions options, const Work::Function& function);
// The same for a function without a value.
Result<> check_within(Duration allowed, WorkOptions options, const std::function<Result<>()>& function);

}  // namespace belay::core
