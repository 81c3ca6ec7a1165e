#include "supervisor.h"

#include "core/file.h"
#include "filter.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/ranges.h>

namespace belay::fault {

namespace fs = std::filesystem;
using core::Result;
using Clock = std::chrono::steady_clock;

namespace {

struct Notice {
    uint64_t id;
    pid_t process;
    int number;
    Arguments arguments;
};

struct Counted {
    const char* call;
    std::string subject;
    std::string process;
    std::vector<std::string> errors;  // that it can answer
};

class Supervisor {
  public:
    Supervisor(const Plan& plan, core::Descriptor listener, pid_t command)
        : plan_(plan), listener_(std::move(listener)), command_(command) {}

    Result<Outcome> run() {
        const auto limit = Clock::now() + plan_.limit;
        while (serve_one(command_ended_ ? std::min(limit, ended_at_ + plan_.grace) : limit)) reap();
        reap(all_ended_ ? 0 : WNOHANG);
        if (!all_ended_) end_all();
        return std::move(outcome_);
    }

  private:
    // False once every process has ended, or at `until`.
    bool serve_one(Clock::time_point until) {
        // The end of the command shows at the latest when it is looked for again.
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        pollfd waiting{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        int wait = std::clamp<int>(static_cast<int>(left.count()), 0, 20);
        if (poll(&waiting, 1, wait) < 0 && errno != EINTR) return false;
        if ((waiting.revents & POLLIN) != 0) {
            if (std::optional<Notice> notice = receive()) answer(*notice);
        } else if ((waiting.revents & (POLLHUP | POLLERR)) != 0) {
            all_ended_ = true;
            return false;
        }
        return left.count() > 0;
    }

    std::optional<Notice> receive() {
        seccomp_notif notice{};
        if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
            return {};  // it was killed meanwhile
        Notice received{notice.id, static_cast<pid_t>(notice.pid), notice.data.nr, {}};
        std::ranges::copy(notice.data.args, received.arguments);
        return received;
    }

    void send(const Notice& notice, int error, int64_t value, uint32_t flags) {
        seccomp_notif_resp response{.id = notice.id, .val = value, .error = -error, .flags = flags};
        (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);  // ENOENT: it was killed meanwhile
    }
    void let_pass(const Notice& notice) { send(notice, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE); }

    void answer(Notice& notice) {
        if (!begun_) {  // with the program that we were asked to run
            begun_ = notice.number == SYS_execve;
            return let_pass(notice);
        }
        const std::optional<Counted> counted = look_at(notice);
        if (!counted) return let_pass(notice);
        const std::string error = error_for(counted->errors);
        if (plan_.trace != nullptr) write_trace(*counted, error);
        if (error.empty()) return let_pass(notice);
        outcome_.injected = true;
        fail(notice, error);
    }

    // Nothing for a call that does not count.
    std::optional<Counted> look_at(Notice& notice) {
        const Call* call = call_of(notice.number);
        if (notice.number == SYS_clone3) {
            std::string flags = memory_of(notice.process, notice.arguments[0], sizeof(uint64_t));
            std::memcpy(notice.arguments, flags.data(), std::min(flags.size(), sizeof(uint64_t)));
        }
        if (call == nullptr || is_harmless(*call, notice.arguments)) return {};
        std::string process = name_of(notice.process);
        if (std::ranges::find(plan_.except, process) != plan_.except.end()) return {};
        if (!plan_.process.empty() && process != plan_.process) return {};
        Subject subject = subject_of(plan_.scope, notice.process, *call, notice.arguments);
        if (subject.errors == nullptr) return {};
        ++outcome_.counted;
        std::vector<std::string> errors = errors_of(*call, notice.arguments, subject.errors);
        return Counted{call->name, std::move(subject.name), std::move(process), std::move(errors)};
    }

    void write_trace(const Counted& counted, const std::string& error) {
        const int number = errno_of(error);
        fmt::print(plan_.trace, "{}\t{}\t{}\t{}\t{}\t{}\t{}\n", outcome_.counted, counted.call,
                   counted.subject, counted.process, fmt::join(counted.errors, ","), error,
                   number != 0 ? std::strerror(number) : "");
    }

    // Empty where the call is to be carried out. Where processes came in another order than when the calls
    // were counted, the chosen one may be one that cannot answer the error: it gets its own.
    std::string error_for(const std::vector<std::string>& errors) const {
        const bool possible = plan_.error == "KILL" || std::ranges::find(errors, plan_.error) != errors.end();
        if (outcome_.counted == plan_.at) return possible ? plan_.error : errors.front();
        const bool goes_on = plan_.lasting && plan_.at != 0 && outcome_.counted > plan_.at;
        return goes_on && possible ? plan_.error : "";
    }

    void fail(const Notice& notice, const std::string& error) {
        if (error == "KILL") {
            kill(notice.process, SIGKILL);
            return;
        }
        if (notice.number == SYS_close) take_away(notice);
        if (error != "SHORT") return send(notice, errno_of(error), 0, 0);
        int64_t done = half_of(notice);
        if (done <= 0) return let_pass(notice);  // of one byte there is no half
        send(notice, 0, done, 0);
    }

    // Whatever close(2) answers, the file is closed, with its locks: the number leads elsewhere from now on.
    void take_away(const Notice& notice) {
        const core::Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
        seccomp_notif_addfd put{.id = notice.id,
                                .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                .srcfd = static_cast<uint32_t>(nothing.get()),
                                .newfd = static_cast<uint32_t>(notice.arguments[0]),
                                .newfd_flags = O_CLOEXEC};
        (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &put);
    }

    // Reads or writes half of the bytes for the process. A duplicate of its descriptor shares the position.
    int64_t half_of(const Notice& notice) {
        const size_t length = static_cast<size_t>(notice.arguments[2]) / 2;
        core::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, group_of(notice.process), 0)));
        core::Descriptor file(static_cast<int>(
            syscall(SYS_pidfd_getfd, process.get(), static_cast<int>(notice.arguments[0]), 0)));
        const auto offset = static_cast<off_t>(notice.arguments[3]);
        if (notice.number == SYS_write || notice.number == SYS_pwrite64) {
            std::string bytes = memory_of(notice.process, notice.arguments[1], length);
            return notice.number == SYS_write ? write(file.get(), bytes.data(), bytes.size())
                                              : pwrite(file.get(), bytes.data(), bytes.size(), offset);
        }
        std::string bytes(length, '\0');
        ssize_t count = notice.number == SYS_read ? read(file.get(), bytes.data(), length)
                                                  : pread(file.get(), bytes.data(), length, offset);
        iovec local{bytes.data(), count > 0 ? static_cast<size_t>(count) : 0};
        iovec remote{reinterpret_cast<void*>(notice.arguments[1]), local.iov_len};
        return process_vm_writev(notice.process, &local, 1, &remote, 1, 0);
    }

    // The process that a thread belongs to.
    static pid_t group_of(pid_t thread) {
        std::string status = core::read_file(fmt::format("/proc/{}/status", thread)).value_or("");
        size_t at = status.find("\nTgid:");
        return at == std::string::npos ? thread : std::stoi(status.substr(at + 6));
    }

    void reap(int options = WNOHANG) {
        int status = 0;
        while (pid_t ended = waitpid(-1, &status, options)) {
            if (ended < 0) return;
            if (ended != command_) continue;
            command_ended_ = true;
            ended_at_ = Clock::now();
            outcome_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }

    // What came of the command and still runs is a child of ours, or of one of these.
    void end_all() {
        outcome_.timed_out = !command_ended_;
        for (std::vector<pid_t> left = children(); !left.empty(); left = children()) {
            for (pid_t process : left) {
                outcome_.left.push_back(fmt::format("{}({})", name_of(process), process));
                kill(process, SIGKILL);
            }
            // The calls that it waits in are ours to let go: closing does so.
            listener_.reset();
            for (pid_t process : left) waitpid(process, nullptr, 0);
        }
    }

    static std::vector<pid_t> children() {
        std::string text =
            core::read_file(fmt::format("/proc/{}/task/{}/children", getpid(), getpid())).value_or("");
        std::vector<pid_t> found;
        for (const char* at = text.c_str(); *at != '\0';) {
            char* end = nullptr;
            long pid = std::strtol(at, &end, 10);
            if (end == at) break;
            found.push_back(static_cast<pid_t>(pid));
            at = end + std::strspn(end, " ");
        }
        return found;
    }

    const Plan& plan_;
    core::Descriptor listener_;
    pid_t command_;
    bool begun_ = false;
    bool command_ended_ = false;
    bool all_ended_ = false;
    Clock::time_point ended_at_;
    Outcome outcome_;
};

}  // namespace

Result<Outcome> supervise(const Plan& plan) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    BELAY_TRY(started, start_filtered(plan.command));
    return Supervisor(plan, std::move(started.listener), started.process).run();
}

}  // namespace belay::fault
