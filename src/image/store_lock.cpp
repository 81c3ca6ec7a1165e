#include "image/store_lock.h"

#include "core/units.h"
#include "image/store_trust.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace belay::image {

namespace {

using core::errno_error;
using core::Result;

constexpr core::Duration kFirstPause = std::chrono::milliseconds(20);
constexpr core::Duration kLongestPause = std::chrono::milliseconds(500);
constexpr int kMostAttempts = 20;  // without a pause

std::optional<struct stat> status_of(const std::filesystem::path& file) {
    struct stat out{};
    if (::stat(file.c_str(), &out) != 0) return std::nullopt;
    return out;
}

// Whether the descriptor is of what has the name now. Errors: kSystem where nobody can tell.
Result<bool> is_file(int fd, const std::filesystem::path& path) {
    struct stat ours{};
    struct stat there{};
    if (::stat(path.c_str(), &there) == 0 && fstat(fd, &ours) == 0)
        return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
    if (errno == ENOENT || errno == ESTALE) return false;  // ESTALE: removed on another client of NFS
    return errno_error(errno, fmt::format("cannot look at {}", path.string()));
}

std::filesystem::path lease_of(std::filesystem::path file) {
    file += ".lease";
    return file;
}

// What kernels answer where a file system has no flock.
bool is_unsupported(int error) {
    // EBADF: NFS makes a lock of the whole file of it, for which the file must be open for writing.
    return error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK || error == EINVAL || error == EBADF;
}

}  // namespace

struct StoreLock::State {
    std::filesystem::path file;
    core::Descriptor fd;
    LockMethod method = LockMethod::kFlock;

    std::mutex mutex;
    std::condition_variable_any ended;
    std::jthread heartbeat;  // of a lease

    State(std::filesystem::path file_in, core::Descriptor fd_in, LockMethod method_in)
        : file(std::move(file_in)), fd(std::move(fd_in)), method(method_in) {}

    ~State() {
        if (heartbeat.joinable()) {
            heartbeat.request_stop();
            heartbeat.join();
        }
        // Before it is let go, so that nobody can get hold of a file that is about to vanish unseen.
        if (is_file(fd.get(), file).value_or(false)) unlink(file.c_str());
    }

    void start_heartbeat(core::Duration every) {
        heartbeat = std::jthread([this, every](const std::stop_token& stop) {
            std::unique_lock lock(mutex);
            while (!ended.wait_for(lock, stop, every, [] { return false; }) && !stop.stop_requested())
                // Where that fails another may take the lease away: the work is done twice, and nothing is
                // wrong.
                (void)futimens(fd.get(), nullptr);
        });
    }
};

StoreLock::StoreLock(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreLock::StoreLock(StoreLock&&) noexcept = default;
StoreLock& StoreLock::operator=(StoreLock&&) noexcept = default;
StoreLock::~StoreLock() = default;

namespace {

// Whoever may create locks may write to this one, whatever the umask is: on NFS only then can it be locked.
void let_write_as_directory(int fd, const std::filesystem::path& file) {
    struct stat ours{};
    auto directory = status_of(file.parent_path());
    if (!directory || fstat(fd, &ours) != 0 || ours.st_uid != geteuid()) return;
    const mode_t mode = 0600U | (directory->st_mode & 0066U);
    if ((ours.st_mode & 07777U) != mode) (void)fchmod(fd, mode);
}

// Another user's file can be locked, but not always be opened for writing.
Result<core::Descriptor> open_lock(const std::filesystem::path& file) {
    auto opened = core::open_file(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (opened) {
        let_write_as_directory(opened->get(), file);
        return opened;
    }
    // In a sticky directory the kernel refuses O_CREAT for another's file (fs.protected_regular).
    if (auto writable = core::open_file(file, O_RDWR | O_NOFOLLOW)) return writable;
    auto readable = core::open_file(file, O_RDONLY | O_NOFOLLOW);
    return readable ? std::move(readable) : std::move(opened);
}

}  // namespace

Result<std::optional<StoreLock>> StoreLock::try_acquire(const std::filesystem::path& file,
                                                        LockMethod method) {
    std::optional<StoreLock> nobody;
    if (method == LockMethod::kLease) {
        const std::filesystem::path lease = lease_of(file);
        std::string owner = fmt::format("{} {}\n", getpid(), std::random_device{}());
        BELAY_TRY(created, core::create_file(lease, owner));
        if (!created) return nobody;
        BELAY_TRY(fd, core::open_file(lease, O_RDWR));
        return std::optional(StoreLock(std::make_unique<State>(lease, std::move(fd), method)));
    }
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        BELAY_TRY(fd, open_lock(file));
        if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EINTR) continue;
            if (errno == EWOULDBLOCK) return nobody;
            if (is_unsupported(errno)) {
                if (errno != EBADF) unlink(file.c_str());  // else it is another user's
                return try_acquire(file, LockMethod::kLease);
            }
            return errno_error(errno, fmt::format("cannot lock {}", file.string()));
        }
        // Its holder may have removed it between our two calls.
        BELAY_TRY(is_there, is_file(fd.get(), file));
        if (is_there) return std::optional(StoreLock(std::make_unique<State>(file, std::move(fd), method)));
    }
    return nobody;  // others come and go: as if one of them had it
}

Result<StoreLock> StoreLock::acquire(const std::filesystem::path& file, core::Clock& clock,
                                     const core::Deadline& deadline, const std::function<void()>& waiting,
                                     LockMethod method, LeaseTimes times, const std::atomic<bool>* stopped) {
    const std::filesystem::path lease = lease_of(file);
    const core::Duration started = clock.monotonic();
    core::Duration pause = kFirstPause;
    core::Deadline stale = core::Deadline::after(times.stale, clock);
    std::optional<struct stat> seen;
    for (bool told = false;; pause = std::min(2 * pause, kLongestPause)) {
        BELAY_TRY(lock, try_acquire(file, method));
        if (lock) {
            if (lock->state_->method == LockMethod::kLease) lock->state_->start_heartbeat(times.touch);
            return std::move(*lock);
        }
        if (!told && waiting) waiting();
        told = true;
        // Only our own clock is asked: those of other nodes may be wrong.
        auto now = status_of(lease);
        bool same = now && seen && now->st_ino == seen->st_ino &&
                    now->st_mtim.tv_sec == seen->st_mtim.tv_sec &&
                    now->st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
        if (!same) stale = core::Deadline::after(times.stale, clock);
        seen = now;
        if (now && stale.is_over()) unlink(lease.c_str());
        if (stopped != nullptr && *stopped)
            return core::system_error("stopped").because(core::Cause::kCancelled);
        if (deadline.is_over()) {
            const std::filesystem::path& held = now ? lease : file;
            return core::system_error("gave up after {}: {} is locked by another process{}",
                                      core::format_duration(clock.monotonic() - started), held.string(),
                                      owner_of(held))
                .because(core::Cause::kTimedOut)
                .hint("if no import is under way on any node, remove that file, or have its owner do so");
        }
        clock.sleep_until(clock.monotonic() + std::min(pause, deadline.left()));
    }
}

}  // namespace belay::image
