#include "core/file_lock.h"

#include "core/activity.h"
#include "core/host_name.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr Duration kLockPause = std::chrono::milliseconds(50);

std::optional<struct stat> status_in(const Directory& directory, const std::string& name) {
    struct stat status{};
    if (fstatat(directory.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return status;
}

}  // namespace

bool is_without_flock(int errno_value) {
    // EBADF: NFS makes a lock of the whole file of it, for which the file must be open for writing.
    return errno_value == ENOSYS || errno_value == EOPNOTSUPP || errno_value == ENOLCK ||
           errno_value == EINVAL || errno_value == EBADF;
}

LeaseWatch::LeaseWatch(const Directory& directory, std::string lease, const Clock& clock, Duration stale)
    : directory_(&directory),
      lease_(std::move(lease)),
      clock_(&clock),
      stale_(stale),
      left_(Deadline::after(stale, clock)) {}

void LeaseWatch::look() {
    const auto status = status_in(*directory_, lease_);
    std::optional<Touch> now;
    if (status) now = Touch{status->st_ino, status->st_mtim.tv_sec, status->st_mtim.tv_nsec};
    is_held_ = is_held_ || (seen_ && now && now != seen_);
    if (!now || now != seen_) left_ = Deadline::after(stale_, *clock_);
    seen_ = now;
    if (now && left_.is_over() && unlinkat(directory_->fd(), lease_.c_str(), 0) != 0) is_held_ = true;
}

struct FileLock::Lease {
    Directory directory;
    std::string name;
    Descriptor fd;
    std::mutex mutex = {};
    std::condition_variable_any ended = {};
    std::jthread heartbeat = {};

    Lease(Directory in, std::string called, Descriptor opened, Duration touch)
        : directory(std::move(in)), name(std::move(called)), fd(std::move(opened)) {
        heartbeat = std::jthread([this, touch](const std::stop_token& stop) {
            std::unique_lock lock(mutex);
            while (!ended.wait_for(lock, stop, touch, [] { return false; }) && !stop.stop_requested())
                // Where that fails another may take the lease away: the work is done twice, and nothing is
                // wrong.
                (void)futimens(fd.get(), nullptr);
        });
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
        heartbeat.request_stop();
        heartbeat.join();
        struct stat ours{};
        const auto there = status_in(directory, name);
        if (there && fstat(fd.get(), &ours) == 0 && there->st_ino == ours.st_ino &&
            there->st_dev == ours.st_dev)
            unlinkat(directory.fd(), name.c_str(), 0);
    }
};

FileLock::FileLock(std::unique_ptr<Lease> lease) : lease_(std::move(lease)) {}
FileLock::FileLock(FileLock&&) noexcept = default;
FileLock& FileLock::operator=(FileLock&&) noexcept = default;
FileLock::~FileLock() = default;

Result<std::optional<FileLock>> FileLock::try_lease(const Directory& directory, const std::string& lease,
                                                    const LeaseTimes& times) {
    BELAY_TRY(place, directory.enter(""));
    auto fd = place.open_file(lease, O_RDWR | O_CREAT | O_EXCL, 0644);
    if (!fd && fd.error().errno_value() == EEXIST) return std::optional<FileLock>();
    if (!fd) return std::unexpected(std::move(fd.error()));
    // For people who find it.
    (void)write_all(fd->get(), fmt::format("{} {}\n", host_name(), getpid()), lease);
    return std::optional(
        FileLock(std::make_unique<Lease>(std::move(place), lease, std::move(*fd), times.touch)));
}

Result<std::optional<FileLock>> FileLock::try_flock(int file, std::string_view name) {
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return std::optional<FileLock>();
        if (errno != EINTR) return errno_error(errno, fmt::format("cannot lock {}", name));
    }
    return std::optional(FileLock(nullptr));
}

Result<std::optional<FileLock>> FileLock::try_acquire(int file, const Directory& directory,
                                                      const std::string& lease, LockMethod method,
                                                      const LeaseTimes& times) {
    if (method == LockMethod::kFlock) {
        auto lock = try_flock(file, directory.path().native());
        if (lock || !is_without_flock(lock.error().errno_value())) return lock;
    }
    return try_lease(directory, lease, times);
}

Result<std::optional<FileLock>> FileLock::acquire(int file, const Directory& directory,
                                                  const std::string& lease, const Deadline& deadline,
                                                  LockMethod method, const LeaseTimes& times) {
    LeaseWatch watch(directory, lease, system_clock(), times.stale);
    while (true) {
        BELAY_TRY(lock, try_acquire(file, directory, lease, method, times));
        if (lock) return lock;
        watch.look();
        const bool is_known = watch.is_held() || !watch.is_there();
        if (is_known && deadline.is_over()) return std::optional<FileLock>();
        note_activity("wait for", directory.path_of(lease).native());
        std::this_thread::sleep_for(is_known ? std::min(kLockPause, deadline.left()) : kLockPause);
    }
}

}  // namespace belay::core
