#include "observe/collect/mount_probe.h"

#include "observe/collect/helper_process.h"
#include "procfs/pid_stat.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace belay::observe::collect {

namespace {

int64_t own_cpu_nanoseconds() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return spent.tv_sec * 1'000'000'000 + spent.tv_nsec;
}

// Whether the process only waits for a CPU: on a crowded node that is no fault of the file system.
bool is_runnable(pid_t pid) {
    core::Result<std::string> text = core::read_file(fmt::format("/proc/{}/stat", pid));
    if (!text) return false;
    std::optional<procfs::PidStat> stat = procfs::parse_pid_stat(*text);
    return stat && stat->state == 'R';
}

}  // namespace

struct MountProbe::Slot {
    std::atomic<int64_t> started_nanoseconds;  // 0: not yet
    std::atomic<bool> done;                    // set last; then the two below are valid
    int error;
    struct statvfs size;
};

// In front of as many slots as there are paths.
struct MountProbe::Shared {
    size_t mapped_bytes;
    std::atomic<int64_t> cpu_nanoseconds;

    Slot& slot(size_t i) { return reinterpret_cast<Slot*>(this + 1)[i]; }
};

void MountProbe::Unmap::operator()(Shared* shared) const {
    munmap(shared, shared->mapped_bytes);
}

MountProbe::MountProbe(Statvfs statvfs, core::Duration allowed)
    : statvfs_(std::move(statvfs)), allowed_(allowed) {}

MountProbe::~MountProbe() {
    replace(nullptr);
    std::vector<core::Process> killed;
    for (Stuck& stuck : stuck_) killed.push_back(std::move(stuck.process));
    leave(std::move(killed));
}

std::vector<MountProbe::Answer> MountProbe::ask(std::span<const std::string> paths) {
    reap();
    problem_.reset();
    if (paths.empty()) return {};
    if (auto started = start(paths); !started) {
        problem_ = std::move(started.error());
        return std::vector<Answer>(paths.size());
    }
    for (size_t i = 0; i < paths.size(); ++i) {
        shared_->slot(i).done = false;
        shared_->slot(i).started_nanoseconds = 0;
    }
    char go = 1;
    bool sent = send(socket_.get(), &go, 1, MSG_NOSIGNAL) == 1;
    const Heard heard = sent ? wait_for_answers(core::Deadline::after(allowed_)) : Heard::kEnd;
    std::vector<Answer> answers = take_answers(paths.size(), heard);
    if (heard == Heard::kAll) return answers;
    if (heard == Heard::kEnd) problem_ = how_it_ended(*child_, "the process that asks file systems");
    auto silent = std::ranges::find(answers, Outcome::kSilent, &Answer::outcome);
    replace(silent == answers.end() ? nullptr : &paths_[static_cast<size_t>(silent - answers.begin())]);
    return answers;
}

bool MountProbe::is_stuck(const std::string& path) {
    reap();
    return std::ranges::find(stuck_, path, &Stuck::path) != stuck_.end();
}

double MountProbe::cpu_seconds() const {
    double current = shared_ ? static_cast<double>(shared_->cpu_nanoseconds) * 1e-9 : 0;
    return ended_children_cpu_seconds_ + current;
}

// Makes sure that a child runs which knows these paths.
core::Result<> MountProbe::start(std::span<const std::string> paths) {
    if (child_ && std::ranges::equal(paths, paths_)) return {};
    replace(nullptr);
    size_t bytes = sizeof(Shared) + paths.size() * sizeof(Slot);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return core::errno_error(errno, "cannot map memory");
    // Zero bytes are what the atomics start as.
    shared_.reset(static_cast<Shared*>(memory));
    shared_->mapped_bytes = bytes;
    paths_.assign(paths.begin(), paths.end());

    BELAY_TRY(helper, start_helper("belay-statvfs", [this](int socket) { serve(socket); }));
    socket_ = std::move(helper.socket);
    child_ = std::move(helper.process);
    return {};
}

// The child. It was forked from a process that may have threads: only async-signal-safe calls.
void MountProbe::serve(int socket) {
    if (chdir("/") != 0) _exit(1);
    while (true) {
        char byte = 0;
        ssize_t got = recv(socket, &byte, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        for (size_t i = 0; i < paths_.size(); ++i) {
            Slot& slot = shared_->slot(i);
            slot.started_nanoseconds = core::system_clock().monotonic().count();
            slot.error = statvfs_(paths_[i].c_str(), &slot.size) == 0 ? 0 : errno;
            slot.done = true;
        }
        shared_->cpu_nanoseconds = own_cpu_nanoseconds();
        if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1) return;
    }
}

MountProbe::Heard MountProbe::wait_for_answers(const core::Deadline& deadline) {
    while (true) {
        pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return Heard::kNothing;
        // Whatever fails here, the process is not heard any more: how it ends is told.
        char byte = 0;
        return ready > 0 && recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 1 ? Heard::kAll : Heard::kEnd;
    }
}

// A path is silent only if the child has been in its call for at least half the time and does not wait for a
// CPU.
std::vector<MountProbe::Answer> MountProbe::take_answers(size_t count, Heard heard) {
    std::vector<Answer> answers(count);
    size_t i = 0;
    for (; i < count && shared_->slot(i).done; ++i) {
        const Slot& slot = shared_->slot(i);
        answers[i].outcome = slot.error == 0 ? Outcome::kAnswered : Outcome::kFailed;
        answers[i].error = slot.error;
        if (slot.error == 0) answers[i].size = slot.size;
    }
    if (heard != Heard::kNothing || i == count) return answers;
    core::Duration started(shared_->slot(i).started_nanoseconds.load());
    bool long_ago = started.count() != 0 && core::system_clock().monotonic() - started >= allowed_ / 2;
    if (long_ago && !is_runnable(child_->pid())) answers[i].outcome = Outcome::kSilent;
    return answers;
}

// Gets rid of the child; the next ask() starts another.
void MountProbe::replace(const std::string* silent_path) {
    if (!child_) return;
    socket_.reset();
    (void)child_->kill(SIGKILL);
    stuck_.push_back({std::move(*child_), silent_path != nullptr ? *silent_path : std::string()});
    ended_children_cpu_seconds_ = cpu_seconds();
    shared_.reset();
    child_.reset();
    reap();
}

void MountProbe::reap() {
    std::erase_if(stuck_, [](Stuck& stuck) { return has_ended(stuck.process); });
}

}  // namespace belay::observe::collect
