#include "observe/recorder_process.h"

#include "core/tell.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::observe {

using core::Duration;

namespace {

constexpr Duration kLongestPause = std::chrono::minutes(1);
constexpr Duration kFinishTime = std::chrono::seconds(10);
// A recorder that lived as long as this was killed by chance; one that did not may be killed again at once.
constexpr Duration kHealthyLife = std::chrono::seconds(5);

// The recorder keeps only its link and the standard streams: a pipe of the task that it held open would keep
// the task from seeing that its supervisor is gone.
void close_all_but(int keep) {
    auto from = static_cast<unsigned>(STDERR_FILENO + 1);
    if (keep > STDERR_FILENO + 1) close_range(from, static_cast<unsigned>(keep) - 1, 0);
    close_range(static_cast<unsigned>(keep) + 1, ~0U, 0);
}

// Becomes the recorder; never returns.
[[noreturn]] void be_recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link) {
    close_all_but(link.fd());
    // It ends when its supervisor does. A time limit signals every process of the job; the end of the job is
    // still to be recorded then.
    for (int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ})
        std::signal(signal, SIG_IGN);
    core::Result<> result;
    try {
        result = run_recorder(options, placement, std::move(link));
    } catch (const std::exception&
                 exception) {  // no exception may leave this process upwards: the stack is the supervisor's
        result = core::system_error("{}", exception.what());
    }
    if (!result) core::tell("recording stopped: {}; the job goes on", result.error().message());
    _exit(result ? 0 : result.error().exit_status());
}

}  // namespace

RecorderProcess::RecorderProcess(RecorderOptions options, const Placement& placement)
    : options_(std::move(options)), placement_(placement) {
    options_.supervisor = getpid();
}

void RecorderProcess::start() {
    auto link = make_link();
    if (!link) return core::tell("recording did not start: {}; the job goes on", link.error().message());
    pid_t pid = fork();
    if (pid < 0)
        return core::tell("recording did not start: {}; the job goes on",
                          std::generic_category().message(errno));
    if (pid == 0) {
        be_recorder(options_, placement_, std::move(link->receiver));
    }
    sender_.reopen(std::move(link->sender));
    pid_ = pid;
    pidfd_ = core::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    started_at_ = core::system_clock().monotonic();
}

bool RecorderProcess::has_ended(int& wait_status) {
    if (pid_ < 0 || waitpid(pid_, &wait_status, WNOHANG) != pid_) return false;
    pid_ = -1;
    sender_.close();
    return true;
}

void RecorderProcess::tend() {
    sender_.flush();
    Duration now = core::system_clock().monotonic();
    int status = 0;
    if (has_ended(status) && WIFSIGNALED(status)) {
        if (now - started_at_ >= kHealthyLife) pause_ = Duration::zero();
        restart_at_ = now + pause_;
        core::tell("the recorder was killed by signal {}; it is started again, the job goes on",
                   WTERMSIG(status));
        pause_ = std::min(std::max<Duration>(pause_ * 2, std::chrono::seconds(1)), kLongestPause);
    }
    if (pid_ < 0 && now >= restart_at_) {
        restart_at_ = Duration::max();
        start();
    }
}

void RecorderProcess::finish(const std::optional<core::ExitStatus>& status) {
    tend();
    if (pid_ < 0 && restart_at_ != Duration::max()) start();  // how the task ended is worth a last segment
    if (status) sender_.send(LinkMessage::kEnded, encode_exit(*status));
    Duration give_up = core::system_clock().monotonic() + kFinishTime;
    while (sender_.fd() >= 0 && sender_.has_backlog() && core::system_clock().monotonic() < give_up) {
        pollfd writable{.fd = sender_.fd(), .events = POLLOUT, .revents = 0};
        poll(&writable, 1, 100);
        sender_.flush();
    }
    sender_.close();
    if (pid_ < 0) return;
    Duration left = give_up - core::system_clock().monotonic();
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    poll(&ended, 1, static_cast<int>(std::max<int64_t>(left / std::chrono::milliseconds(1), 1)));
    int wait_status = 0;
    if (!has_ended(wait_status)) core::tell("the recorder did not finish in time; it goes on alone");
}

}  // namespace belay::observe
