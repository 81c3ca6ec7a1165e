#include "observe/fabric/retry_handlers.h"

#include "observe/collect/helper_process.h"
#include "observe/fabric/port_text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::observe::fabric {

namespace {

constexpr size_t kCounters = std::size(kRetryCounters);
constexpr size_t kMostHandlers = 256;  // their numbers are asked for in bytes

// The child's answer for one handler.
struct Answer {
    uint32_t handler = 0;
    int64_t cpu_nanoseconds = 0;
    std::array<uint8_t, kCounters> lengths = {};  // 0: cannot be read
    std::array<std::array<char, 24>, kCounters> texts = {};
};

int64_t cpu_nanoseconds_of_child() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return spent.tv_sec * 1'000'000'000 + spent.tv_nsec;
}

// Opened afresh: the kernel keeps pages of an open file of FUSE. With one read: the handler gives the same
// text at every offset.
uint8_t read_once(const char* path, std::array<char, 24>& text) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t length = read(fd, text.data(), text.size());
    close(fd);
    return length > 0 ? static_cast<uint8_t>(length) : 0;
}

}  // namespace

RetryHandlers::~RetryHandlers() {
    end_child();
    std::vector<core::Process> killed;
    for (Killed& one : killed_) killed.push_back(std::move(one.process));
    collect::leave(std::move(killed));
}

core::Result<> RetryHandlers::ask(std::span<const std::string> devices, core::Duration wait) {
    reap();
    take();
    note_silence();
    know(devices.first(std::min(devices.size(), kMostHandlers)));
    const std::vector<uint8_t> asked = whom_to_ask();
    // /run/cxi itself is of the machine; what is mounted beneath it is not looked at here.
    if (asked.empty() || access((options_.run / "cxi").c_str(), F_OK) != 0) return {};
    BELAY_CHECK(start());
    if (send(socket_.get(), asked.data(), asked.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(asked.size())) {
        note_end();
        return {};
    }
    for (const uint8_t index : asked) handlers_[index].owes_answer = true;
    wait_for_answers(wait);
    return {};
}

std::vector<uint8_t> RetryHandlers::whom_to_ask() const {
    std::vector<uint8_t> asked;
    for (size_t i = 0; i < handlers_.size(); ++i) {
        const bool is_stuck =
            std::ranges::find(killed_, handlers_[i].device, &Killed::device) != killed_.end();
        if (!is_stuck && handlers_[i].pause.is_over()) asked.push_back(static_cast<uint8_t>(i));
    }
    return asked;
}

void RetryHandlers::wait_for_answers(core::Duration wait) {
    const auto deadline = core::Deadline::after(wait);
    while (child_ && !deadline.is_over() && std::ranges::any_of(handlers_, &Handler::owes_answer)) {
        pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        if (poll(&entry, 1, deadline.poll_milliseconds()) > 0) take();
    }
}

void RetryHandlers::take() {
    while (child_) {
        Answer answer;
        const ssize_t length = recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (length != static_cast<ssize_t>(sizeof answer) || answer.handler >= handlers_.size())
            return note_end();
        Handler& handler = handlers_[answer.handler];
        handler.owes_answer = handler.is_told = false;
        cpu_seconds_ = static_cast<double>(answer.cpu_nanoseconds) * 1e-9;
        for (size_t i = 0; i < kCounters; ++i) {
            const size_t known = std::min<size_t>(answer.lengths[i], answer.texts[i].size());
            handler.values[i] = parse_counter({answer.texts[i].data(), known});
        }
    }
}

void RetryHandlers::set(std::string_view device, stream::Batch& rows) const {
    const auto handler = std::ranges::find(handlers_, device, &Handler::device);
    if (handler == handlers_.end()) return;
    for (size_t i = 0; i < kCounters; ++i) rows.set(kRetryCounters[i].column, handler->values[i]);
}

double RetryHandlers::cpu_seconds() const {
    return ended_cpu_seconds_ + cpu_seconds_;
}

// The handlers of these devices, in the order in which they stood.
void RetryHandlers::know(std::span<const std::string> devices) {
    bool changed = std::erase_if(handlers_, [&](const Handler& handler) {
                       return std::ranges::find(devices, handler.device) == devices.end();
                   }) > 0;
    for (const std::string& device : devices) {
        if (std::ranges::find(handlers_, device, &Handler::device) != handlers_.end()) continue;
        handlers_.push_back({.device = device});
        changed = true;
    }
    if (changed) end_child();
}

// The first that owes an answer is the one that the child waits for.
void RetryHandlers::note_silence() {
    const auto silent = std::ranges::find(handlers_, true, &Handler::owes_answer);
    if (silent == handlers_.end()) return;
    for (Handler& handler : handlers_)
        if (std::exchange(handler.owes_answer, false)) handler.values = {};
    end_child(silent->device);
    silent->pause = core::Deadline::after(options_.retry);
    if (!std::exchange(silent->is_told, true) && options_.on_event)
        options_.on_event({.kind = "collector_failed",
                           .severity = "warning",
                           .subject = std::string(schema::kFabric.name),
                           .device = silent->device,
                           .message = fmt::format("the retry handler of {} does not answer; its counters are "
                                                  "missing until it does",
                                                  silent->device)});
    std::rotate(silent, silent + 1, handlers_.end());
}

core::Result<> RetryHandlers::start() {
    if (child_) return {};
    paths_.clear();
    for (const Handler& handler : handlers_)
        for (const RetryCounter& counter : kRetryCounters)
            paths_.push_back((options_.run / "cxi" / handler.device / counter.file).string());
    BELAY_TRY(helper, collect::start_helper("belay-cxi", [this](int socket) { serve(socket); }));
    socket_ = std::move(helper.socket);
    child_ = std::move(helper.process);
    return {};
}

// The child. It was forked from a process that may have threads: only async-signal-safe calls.
void RetryHandlers::serve(int socket) const {
    while (true) {
        std::array<uint8_t, kMostHandlers> asked;
        const ssize_t got = recv(socket, asked.data(), asked.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        for (ssize_t at = 0; at < got; ++at) {
            const size_t handler = asked[static_cast<size_t>(at)];
            Answer answer{.handler = static_cast<uint32_t>(handler)};
            for (size_t i = 0; i < kCounters; ++i)
                answer.lengths[i] = read_once(paths_[handler * kCounters + i].c_str(), answer.texts[i]);
            answer.cpu_nanoseconds = cpu_nanoseconds_of_child();
            if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof answer))
                return;
        }
    }
}

// The child has ended by itself: no handler is to blame.
void RetryHandlers::note_end() {
    for (Handler& handler : handlers_)
        if (std::exchange(handler.owes_answer, false)) handler.values = {};
    end_child();
}

void RetryHandlers::end_child(std::string_view device) {
    if (!child_) return;
    socket_.reset();
    (void)child_->kill(SIGKILL);
    killed_.push_back({std::move(*child_), std::string(device)});
    child_.reset();
    ended_cpu_seconds_ += std::exchange(cpu_seconds_, 0);
    reap();
}

void RetryHandlers::reap() {
    std::erase_if(killed_, [](Killed& killed) { return collect::has_ended(killed.process); });
}

}  // namespace belay::observe::fabric
