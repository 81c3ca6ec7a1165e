#include "observe/hardware/smart_probe.h"

#include "observe/collect/helper_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/socket.h>
#include <sys/types.h>

namespace belay::observe::hardware {

// Both sides are the same program: values travel as they lie in memory.
struct SmartProbe::Message {
    uint64_t index;           // into the round
    int64_t cpu_nanoseconds;  // that this answer took
    int error;
    char page[kSmartLogBytes];

    static ssize_t size() { return static_cast<ssize_t>(sizeof(Message)); }
};

namespace {

int64_t process_cpu_nanoseconds() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return spent.tv_sec * 1'000'000'000 + spent.tv_nsec;
}

}  // namespace

SmartProbe::~SmartProbe() {
    if (child_) end_child({});
    std::vector<core::Process> killed;
    for (Stuck& stuck : killed_) killed.push_back(std::move(stuck.process));
    collect::leave(std::move(killed));
}

void SmartProbe::start(std::vector<std::string> devices) {
    if (is_busy()) return;
    // In front, so that no child meets one of them.
    std::ranges::stable_partition(devices, [this](const std::string& device) { return is_stuck(device); });
    devices_ = std::move(devices);
    next_ = 0;
}

std::vector<SmartProbe::Answer> SmartProbe::take() {
    std::vector<Answer> answers;
    reap();
    if (child_) hear(answers);
    if (!child_ && is_busy()) start_child(answers);
    return answers;
}

// For those of the round that are left; those with which a child is still stuck are passed over.
void SmartProbe::start_child(std::vector<Answer>& answers) {
    while (is_busy() && is_stuck(devices_[next_]))
        answers.push_back({.device = devices_[next_++], .error = ETIMEDOUT});
    if (!is_busy()) return;
    auto helper = collect::start_helper("belay-nvme", [this](int socket) { serve(socket); });
    if (!helper) {
        const int error = helper.error().errno_value();
        while (is_busy())
            answers.push_back({.device = devices_[next_++], .error = error == 0 ? EAGAIN : error});
        return;
    }
    child_ = std::move(helper->process);
    socket_ = std::move(helper->socket);
    silent_until_ = core::Deadline::after(patience_);
}

// The child. It was forked from a process that may have threads: only async-signal-safe calls.
void SmartProbe::serve(int socket) const {
    int64_t spent = 0;
    for (size_t i = next_; i < devices_.size(); ++i) {
        Message message{};
        message.index = i;
        message.error = read_(devices_[i].c_str(), message.page);
        const int64_t now = process_cpu_nanoseconds();
        message.cpu_nanoseconds = now - spent;
        spent = now;
        if (send(socket, &message, sizeof message, MSG_NOSIGNAL) != Message::size()) return;
    }
}

void SmartProbe::hear(std::vector<Answer>& answers) {
    while (is_busy()) {
        Message message{};
        const ssize_t size = recv(socket_.get(), &message, sizeof message, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (silent_until_.is_over()) give_up(ETIMEDOUT, answers);
            return;
        }
        if (size != Message::size() || message.index != next_) return give_up(ECONNRESET, answers);
        Answer answer{.device = devices_[next_++], .error = message.error};
        std::memcpy(answer.page.data(), message.page, kSmartLogBytes);
        answers.push_back(std::move(answer));
        cpu_nanoseconds_ += message.cpu_nanoseconds;
        silent_until_ = core::Deadline::after(patience_);
    }
    end_child({});
}

void SmartProbe::give_up(int error, std::vector<Answer>& answers) {
    end_child(devices_[next_]);
    answers.push_back({.device = devices_[next_++], .error = error});
}

void SmartProbe::end_child(std::string device) {
    socket_.reset();
    (void)child_->kill(SIGKILL);
    killed_.push_back({std::move(*child_), std::move(device)});
    child_.reset();
}

void SmartProbe::reap() {
    std::erase_if(killed_, [](Stuck& stuck) { return collect::has_ended(stuck.process); });
}

bool SmartProbe::is_stuck(const std::string& device) {
    reap();
    return std::ranges::find(killed_, device, &Stuck::device) != killed_.end();
}

}  // namespace belay::observe::hardware
