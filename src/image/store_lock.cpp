#include "image/store_lock.h"

#include "core/units.h"
#include "image/store_trust.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
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

std::string lease_of(const std::filesystem::path& file) {
    return file.filename().string() + ".lease";
}

}  // namespace

struct StoreLock::State {
    std::filesystem::path file;
    core::Descriptor fd;                 // none of a lease
    std::optional<core::FileLock> lock;  // none before it is had

    State(std::filesystem::path file_in, core::Descriptor fd_in)
        : file(std::move(file_in)), fd(std::move(fd_in)) {}
    ~State() {
        // Before it is let go, so that nobody can get hold of a file that is about to vanish unseen.
        if (lock && lock->method() == LockMethod::kFlock && is_file(fd.get(), file).value_or(false))
            unlink(file.c_str());
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
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

Result<std::optional<StoreLock>> StoreLock::try_acquire(const std::filesystem::path& file, LockMethod method,
                                                        const LeaseTimes& times) {
    std::optional<StoreLock> nobody;
    BELAY_TRY(directory, core::Directory::open(file.parent_path()));
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        auto state = std::make_unique<State>(file, core::Descriptor());
        if (method == LockMethod::kLease) {
            BELAY_TRY(lease, core::FileLock::try_lease(directory, lease_of(file), times));
            if (!lease) return nobody;
            state->lock = std::move(lease);
            return std::optional(StoreLock(std::move(state)));
        }
        BELAY_TRY(fd, open_lock(file));
        state->fd = std::move(fd);
        auto lock = core::FileLock::try_flock(state->fd.get(), file.native());
        if (!lock && core::is_without_flock(lock.error().errno_value())) {
            if (lock.error().errno_value() != EBADF) unlink(file.c_str());  // else it is another user's
            method = LockMethod::kLease;
            continue;
        }
        if (!lock) return std::unexpected(std::move(lock.error()));
        if (!*lock) return nobody;
        // Its holder may have removed it between our two calls.
        BELAY_TRY(is_there, is_file(state->fd.get(), file));
        if (!is_there) continue;
        state->lock = std::move(*lock);
        return std::optional(StoreLock(std::move(state)));
    }
    return nobody;  // others come and go: as if one of them had it
}

Result<StoreLock> StoreLock::acquire(const std::filesystem::path& file, core::Clock& clock,
                                     const core::Deadline& deadline, const std::function<void()>& waiting,
                                     LockMethod method, const LeaseTimes& times,
                                     const std::atomic<bool>* stopped) {
    BELAY_TRY(directory, core::Directory::open(file.parent_path()));
    core::LeaseWatch watch(directory, lease_of(file), clock, times.stale);
    const core::Duration started = clock.monotonic();
    core::Duration pause = kFirstPause;
    for (bool told = false;; pause = std::min(2 * pause, kLongestPause)) {
        BELAY_TRY(lock, try_acquire(file, method, times));
        if (lock) return std::move(*lock);
        if (!told && waiting) waiting();
        told = true;
        watch.look();
        if (stopped != nullptr && *stopped)
            return core::system_error("stopped").because(core::Cause::kCancelled);
        if (deadline.is_over()) {
            const std::filesystem::path held = watch.is_there() ? file.parent_path() / lease_of(file) : file;
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
