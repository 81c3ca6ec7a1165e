#include "observe/supervisor.h"

#include "core/deadline.h"
#include "core/tell.h"
#include "core/text.h"
#include "observe/recorder_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace belay::observe {

using core::Descriptor;
using core::Duration;
using core::Result;

namespace {

constexpr size_t kPipeBytes = size_t{64} << 10;        // of a Linux pipe: what one read can give
constexpr size_t kMostSystemBytes = size_t{64} << 10;  // of os-release(5), which has less than one

// What the task left in its pipes is read on after its end, but not for ever: a daemon that it started may
// hold them.
constexpr Duration kDrainTime = std::chrono::seconds(1);

// Signals that ask a job for something. They are for the command, not for its supervisor.
constexpr std::array kForwardedSignals = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};

// One of the task's output streams on its way to where the supervisor's own goes.
struct Stream {
    LinkMessage kind;
    int destination;
    Descriptor source;
    std::string pending = {};  // read, not yet written: while there is any, nothing more is read
    bool failed = false;       // a write to the destination failed, which has been said
};

// Writes what the destination takes without waiting: a pipe that is ready takes PIPE_BUF bytes (pipe(7)).
// Returns 0 or the errno of the failure.
int write_ready(int destination, std::string& bytes) {
    size_t written = 0;
    int failure = 0;
    while (failure == 0 && written < bytes.size()) {
        pollfd writable{.fd = destination, .events = POLLOUT, .revents = 0};
        if (poll(&writable, 1, 0) <= 0) break;
        ssize_t size =
            write(destination, bytes.data() + written, std::min<size_t>(bytes.size() - written, PIPE_BUF));
        if (size >= 0)
            written += static_cast<size_t>(size);
        else if (errno != EINTR && errno != EAGAIN)
            failure = errno;
    }
    bytes.erase(0, written);
    return failure;
}

Result<Descriptor> make_pipe(Stream& stream) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return core::errno_error(errno, "cannot create a pipe");
    stream.source = Descriptor(ends[0]);
    return Descriptor(ends[1]);
}

Result<Descriptor> block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : kForwardedSignals) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, it would take the task's exit status away
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return core::errno_error(errno, "cannot receive signals");
    return Descriptor(fd);
}

bool is_slurmstepd(uint32_t pid) {
    auto name = core::read_file(fmt::format("/proc/{}/comm", pid));
    return name && core::trim(*name) == "slurmstepd";
}

// proctrack/cgroup passes all signals but SIGKILL to slurmstepd's own children only, so to the supervisor and
// not to the task; the other trackers signal every process (Slurm, proctrack_cgroup.c and
// proctrack_linuxproc.c).
bool slurmstepd_signals_all() {
    auto text = core::read_file("/proc/self/cgroup");
    return !text || !is_in_step_cgroup(*text);
}

class Supervisor {
  public:
    // `system`: what the task says of its system, once it has joined its container; none without one.
    Supervisor(core::Process task, RecorderProcess& recorder, Descriptor signals,
               std::array<Stream, 2> streams, Descriptor system)
        : task_(std::move(task)),
          recorder_(recorder),
          signals_(std::move(signals)),
          streams_(std::move(streams)),
          system_(std::move(system)) {}

    Result<core::ExitStatus> run() {
        std::optional<core::ExitStatus> status;
        auto drain = core::Deadline::never();
        while (!status || (is_open() && !drain.is_over())) {
            wait_for_something(status.has_value());
            forward_signals(status.has_value());
            read_system();
            for (Stream& stream : streams_) pass_on(stream);
            recorder_.tend();
            if (status && (asked_to_end_ || !is_pending())) continue;
            if (!status) {
                BELAY_TRY(ended, task_.wait_for(Duration::zero()));
                if (!ended) continue;
                status = ended;
            }
            // Whoever reads the output may pause; what the task left is not lost for that, unless somebody
            // wants us to end.
            drain = core::Deadline::after(kDrainTime);
        }
        return *status;
    }

  private:
    bool is_open() const { return streams_[0].source || streams_[1].source || is_pending(); }
    bool is_pending() const { return !streams_[0].pending.empty() || !streams_[1].pending.empty(); }

    void wait_for_something(bool task_ended) {
        std::array<pollfd, 6> waiting{{
            {.fd = task_ended ? -1 : task_.pidfd(), .events = POLLIN, .revents = 0},
            {.fd = signals_.get(), .events = POLLIN, .revents = 0},
            {.fd = recorder_.link().fd(),
             .events = static_cast<short>(recorder_.link().has_backlog() ? POLLOUT : 0),
             .revents = 0},
            waiting_for(streams_[0]),
            waiting_for(streams_[1]),
            {.fd = system_.get(), .events = POLLIN, .revents = 0},
        }};
        // The recorder's end shows as a hang-up of its socket; the timeout is for its restart, which waits a
        // little.
        constexpr int kTimeoutMilliseconds = 1000;
        constexpr int kDrainMilliseconds = 50;
        poll(waiting.data(), waiting.size(), task_ended ? kDrainMilliseconds : kTimeoutMilliseconds);
        for (size_t i = 0; i < streams_.size(); ++i) readable_[i] = (waiting[3 + i].revents & ~POLLOUT) != 0;
    }

    // Until its end, which is before the command begins: a file system of the container may hold it up.
    void read_system() {
        std::array<char, 4096> buffer;
        while (system_) {
            const ssize_t size = recv(system_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (size < 0 && errno == EINTR) continue;
            if (size < 0 && errno == EAGAIN) return;
            if (size > 0) system_text_.append(buffer.data(), static_cast<size_t>(size));
            if (size > 0 && system_text_.size() <= kMostSystemBytes) continue;
            if (!system_text_.empty()) recorder_.link().send(LinkMessage::kSystem, system_text_);
            system_.reset();
        }
    }

    static pollfd waiting_for(const Stream& stream) {
        if (stream.pending.empty()) return {.fd = stream.source.get(), .events = POLLIN, .revents = 0};
        return {.fd = stream.destination, .events = POLLOUT, .revents = 0};
    }

    void forward_signals(bool task_ended) {
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof info) == sizeof info) {
            // A terminal signals all processes of the job itself, and so does slurmstepd mostly; the command
            // has got it already.
            int signal = static_cast<int>(info.ssi_signo);
            asked_to_end_ |= signal != SIGUSR1 && signal != SIGUSR2;
            bool reached_task =
                info.ssi_code == SI_KERNEL || (slurmstepd_signals_all_ && is_slurmstepd(info.ssi_pid));
            if (!reached_task && !task_ended) (void)task_.kill(signal);
        }
    }

    void pass_on(Stream& stream) {
        if (stream.pending.empty()) read_from(stream);
        if (stream.pending.empty()) return;
        int failure = write_ready(stream.destination, stream.pending);
        if (failure == 0) return;
        stream.pending.clear();
        // If nobody reads the output any more, the task shall notice as it would without us: by SIGPIPE.
        if (failure == EPIPE) stream.source.reset();
        // A log on a full disk loses lines, with us as without; the task must not end of it.
        else if (!std::exchange(stream.failed, true))
            core::tell_error("output is lost", core::errno_error(failure, "cannot write it").error(),
                             core::kJobGoesOn);
    }

    void read_from(Stream& stream) {
        if (!stream.source || !readable_[static_cast<size_t>(&stream - streams_.data())]) return;
        std::array<char, kPipeBytes> buffer;
        ssize_t size = read(stream.source.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) return;
        if (size < 0)
            core::tell_error("output is lost", core::errno_error(errno, "cannot read it").error(),
                             core::kJobGoesOn);
        if (size <= 0) {
            stream.source.reset();
            return;
        }
        stream.pending.assign(buffer.data(), static_cast<size_t>(size));
        recorder_.link().send(stream.kind, stream.pending);
    }

    core::Process task_;
    RecorderProcess& recorder_;
    Descriptor signals_;
    std::array<Stream, 2> streams_;
    std::array<bool, 2> readable_{};
    Descriptor system_;
    std::string system_text_;
    bool asked_to_end_ = false;
    bool slurmstepd_signals_all_ = slurmstepd_signals_all();
};

std::array<Stream, 2> output_streams() {
    return {Stream{LinkMessage::kStandardOutput, STDOUT_FILENO, {}},
            Stream{LinkMessage::kStandardError, STDERR_FILENO, {}}};
}

Result<core::ExitStatus> watch(core::Process task, RecorderProcess& recorder, Descriptor signals,
                               std::array<Stream, 2> streams, Descriptor system) {
    recorder.link().send(LinkMessage::kStarted, std::to_string(task.pid()));
    Supervisor supervisor(std::move(task), recorder, std::move(signals), std::move(streams),
                          std::move(system));
    BELAY_TRY(status, supervisor.run());
    recorder.finish(status);
    return status;
}

}  // namespace

bool is_in_step_cgroup(std::string_view text) {
    for (std::string_view line : core::split(text, '\n')) {
        size_t job = line.find("/job_");
        if (job != std::string_view::npos && line.find("/step_", job) != std::string_view::npos) return true;
    }
    return false;
}

Result<core::ExitStatus> supervise(core::Command command, RecorderOptions options,
                                   const Placement& placement) {
    BELAY_CHECK(core::occupy_standard_descriptors());
    BELAY_TRY(signals, block_signals());
    RecorderProcess recorder(std::move(options), placement);
    recorder.start();

    std::array<Stream, 2> streams = output_streams();
    BELAY_TRY(output, make_pipe(streams[0]));
    BELAY_TRY(error, make_pipe(streams[1]));
    // Who kills the supervisor with SIGKILL means the task, as it would be without us.
    command.stdout_fd = output.get();
    command.stderr_fd = error.get();
    command.parent_death_signal = SIGKILL;
    core::Result<core::Process> task = core::spawn(command);
    if (!task) {
        recorder.finish(std::nullopt);
        return std::unexpected(std::move(task.error()));
    }
    output.reset();
    error.reset();
    return watch(std::move(*task), recorder, std::move(signals), std::move(streams), {});
}

Result<core::ExitStatus> supervise(StartedTask task, RecorderOptions options, const Placement& placement) {
    BELAY_TRY(signals, block_signals());
    RecorderProcess recorder(std::move(options), placement);
    recorder.start();
    BELAY_CHECK(core::write_all(task.control.get(), "g", "the task"));
    std::array<Stream, 2> streams = output_streams();
    streams[0].source = std::move(task.output);
    streams[1].source = std::move(task.error);
    return watch(std::move(task.process), recorder, std::move(signals), std::move(streams),
                 std::move(task.control));
}

}  // namespace belay::observe
