#include "observe/recorder_process.h"

#include "core/file_call.h"
#include "core/fork.h"
#include "core/program.h"
#include "core/tell.h"
#include "core/units.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::observe {

using core::Deadline;
using core::Duration;

namespace {

constexpr Duration kLongestPause = std::chrono::minutes(1);
constexpr Duration kFinishTime = std::chrono::seconds(10);
constexpr Duration kFinishLook = std::chrono::milliseconds(100);
// A recorder that lived as long as this was killed by chance; one that did not may be killed again at once.
constexpr Duration kHealthyLife = std::chrono::seconds(5);

// In the recorder: all of its life. No exception may leave it, since the stack is the supervisor's.
int be_recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link, int messages) {
    dup2(messages, STDERR_FILENO);
    close(messages);
    const core::Result<> result =
        core::without_exceptions([&] { return run_recorder(options, placement, std::move(link)); });
    if (!result) core::tell_error("recording stopped", result.error(), core::kJobGoesOn);
    return result ? 0 : result.error().exit_status();
}

}  // namespace

RecorderProcess::RecorderProcess(RecorderOptions options, const Placement& placement)
    : options_(std::move(options)), placement_(placement) {
    options_.supervisor = getpid();
}

RecorderProcess::~RecorderProcess() {
    if (process_) process_->detach();  // it ends when its link does
}

void RecorderProcess::start() {
    auto link = make_link();
    constexpr std::string_view kNotStarted = "recording did not start";
    if (!link) return core::tell_error(kNotStarted, link.error(), core::kJobGoesOn);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return core::tell_error(kNotStarted, core::errno_error(errno, "cannot create a pipe").error(),
                                core::kJobGoesOn);
    core::Descriptor messages(ends[0]);
    core::Descriptor writer(ends[1]);
    // It keeps only its link and a pipe for its messages. A stream of the step that it held while it waits
    // for a file system that does not answer would keep Slurm from seeing the end of the step; a pipe of the
    // task, the task from seeing that its supervisor is gone. A time limit signals every process of the job,
    // whose end is still to be recorded then: it hears none of these and ends when its supervisor does.
    auto process = core::fork_process(
        {.signals = core::ChildSignals::kDeafHelper,
         .null_streams = true,
         .keep = {link->receiver.fd(), writer.get()}},
        [&] { return be_recorder(options_, placement_, std::move(link->receiver), writer.get()); });
    if (!process) return core::tell_error(kNotStarted, process.error(), core::kJobGoesOn);
    sender_.reopen(std::move(link->sender));
    process_ = std::move(*process);
    messages_ = std::move(messages);
    healthy_ = Deadline::after(kHealthyLife);
}

void RecorderProcess::pass_on_messages() {
    std::array<char, 4096> buffer;
    while (messages_) {
        ssize_t size = read(messages_.get(), buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return;
        // Lines of core::tell: a disk that is full or a reader that is gone stop nothing.
        [[maybe_unused]] ssize_t written = write(STDERR_FILENO, buffer.data(), static_cast<size_t>(size));
    }
}

std::optional<core::ExitStatus> RecorderProcess::take_end(const Deadline& deadline) {
    if (!process_) return std::nullopt;
    auto status = process_->wait_for(deadline.left());
    pass_on_messages();
    // Nobody else waits for it, so asking cannot fail but where this process has lost its children
    // altogether.
    if (!status || !*status) return std::nullopt;
    process_.reset();
    sender_.close();
    return *status;
}

void RecorderProcess::tend() {
    sender_.flush();
    pass_on_messages();
    auto ended = take_end(Deadline::after(Duration::zero()));
    if (ended && ended->signal != 0) {
        if (healthy_.is_over()) pause_ = Duration::zero();
        restart_ = Deadline::after(pause_);
        core::tell("the recorder was killed by signal {}; it is started again, the job goes on",
                   ended->signal);
        lengthen_pause();
    }
    if (!process_ && restart_ && restart_->is_over()) {
        restart_.reset();
        start();
        if (process_) return;
        // What it lacks, memory or a process more, may be there again.
        lengthen_pause();
        restart_ = Deadline::after(pause_);
    }
}

void RecorderProcess::lengthen_pause() {
    pause_ = std::min(std::max<Duration>(pause_ * 2, std::chrono::seconds(1)), kLongestPause);
}

void RecorderProcess::finish(const std::optional<core::ExitStatus>& status) {
    tend();
    if (!process_ && restart_) start();  // how the task ended is worth a last segment
    if (status) sender_.send(LinkMessage::kEnded, encode_exit(*status));
    const auto deadline = Deadline::after(kFinishTime);
    while (sender_.fd() >= 0 && sender_.has_backlog() && !deadline.is_over()) {
        pollfd writable{.fd = sender_.fd(), .events = POLLOUT, .revents = 0};
        poll(&writable, 1, deadline.but_within(kFinishLook).poll_milliseconds());
        sender_.flush();
    }
    sender_.close();
    if (!process_ || take_end(deadline)) return;
    const auto call = core::file_call_of(process_->pid());
    core::tell("the recorder did not finish within {}{}; it goes on alone",
               core::format_duration(kFinishTime),
               call ? fmt::format(": no answer to {}", core::printable(call->what)) : "");
}

}  // namespace belay::observe
