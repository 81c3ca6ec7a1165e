#include "vet/child_task.h"

#include "core/process.h"
#include "transfer/message.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace belay::vet {

namespace {

using core::Result;

constexpr uint8_t kText = 1;
constexpr size_t kMaxText = size_t{16} << 20;
constexpr auto kReapTime = std::chrono::milliseconds(200);

[[noreturn]] void run_child(int pipe, pid_t parent, const std::function<std::string()>& work) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it ended before the line above
    std::signal(SIGPIPE, SIG_IGN);
    try {
        std::string text = work();
        if (text.size() <= kMaxText &&
            core::write_all(pipe, transfer::encode({kText, std::move(text)}), "the result"))
            _exit(0);
    } catch (...) {
        _exit(1);  // whatever it was, the parent hears of the end without a result
    }
    _exit(1);
}

// The message's length, type and text, or nothing yet.
Result<std::optional<transfer::Message>> cut(const std::string& bytes) {
    transfer::MessageParser parser(kMaxText);
    parser.feed(bytes);
    return parser.next();
}

}  // namespace

Result<ChildTask> ChildTask::start(const std::function<std::string()>& work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return core::errno_error(errno, "cannot create a pipe");
    core::Descriptor reader(ends[0]), writer(ends[1]);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) return core::errno_error(errno, "cannot start a process");
    if (pid == 0) run_child(writer.get(), parent, work);
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    return ChildTask(pid, std::move(reader));
}

ChildTask::ChildTask(ChildTask&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::move(other.pipe_)),
      received_(std::move(other.received_)),
      ended_(other.ended_) {}

ChildTask::~ChildTask() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    auto until = std::chrono::steady_clock::now() + kReapTime;
    while (waitpid(pid_, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool ChildTask::poll_result() {
    std::array<char, 16 * 1024> buffer;
    while (!ended_) {
        ssize_t n = read(pipe_.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) received_.append(buffer.data(), static_cast<size_t>(n));
        ended_ = n <= 0;
        // A child of the child may still hold the pipe: what counts is the result.
        if (auto message = cut(received_); !message || *message) ended_ = true;
    }
    if (ended_) pipe_.reset();
    return ended_;
}

Result<std::string> ChildTask::result() {
    auto message = cut(received_);
    if (message && *message) return std::move((*message)->body);
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_) pid_ = -1;
    core::ExitStatus ended{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                           .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    return core::system_error("it ended without a result ({})", ended.describe());
}

Result<std::string> ChildTask::finish(transfer::Deadline deadline) {
    while (!poll_result()) {
        BELAY_TRY(readable, transfer::wait_readable(descriptor(), deadline));
        if (!readable && !poll_result()) return core::system_error("timed out");
    }
    return result();
}

}  // namespace belay::vet
