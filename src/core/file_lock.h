// One process at a time, on all nodes that share a file system.
//
// flock(2), which Linux carries to the servers of NFS and of Lustre with "-o flock" and lets go when the
// holder dies. Where a file system has none, a lease stands in for it: a file that its holder touches every
// few seconds, and that another may take away when it has not been touched for a minute. A holder that stood
// still for so long has company without knowing it: what is done under a lock must bear to be done twice.
#pragma once

#include "core/deadline.h"
#include "core/directory.h"
#include "core/time.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::core {

enum class LockMethod { kFlock, kLease };

struct LeaseTimes {
    Duration touch = std::chrono::seconds(5);
    Duration stale = std::chrono::seconds(60);
};

// Whether flock(2) means by it that the file system has none.
bool is_without_flock(int errno_value);

// Whether the lease of another is still touched. Asks only its own clock: those of other nodes may be wrong.
class LeaseWatch {
  public:
    // Both outlive this.
    LeaseWatch(const Directory& directory, std::string lease, const Clock& clock, Duration stale);
    // Takes it away where it was not touched for `stale`. What cannot be seen is not there.
    void look();
    bool is_there() const { return seen_.has_value(); }  // when it was looked at
    // It was seen to be touched; or nobody may take it away.
    bool is_held() const { return is_held_; }

  private:
    struct Touch {
        uint64_t inode = 0;
        int64_t seconds = 0, nanoseconds = 0;  // modified
        bool operator==(const Touch&) const = default;
    };

    const Directory* directory_;
    std::string lease_;
    const Clock* clock_;
    Duration stale_;
    Deadline left_;
    std::optional<Touch> seen_;
    bool is_held_ = false;
};

// Held until it is destroyed; with flock, until the file that was locked is closed, too.
class FileLock {
  public:
    // Of what is open as `file`: a file or a directory. The file `lease` in `directory` stands in where there
    // is no flock. Nothing if somebody else has it. Errors: kSystem.
    static Result<std::optional<FileLock>> try_acquire(int file, const Directory& directory,
                                                       const std::string& lease,
                                                       LockMethod method = LockMethod::kFlock,
                                                       const LeaseTimes& times = {});
    // Waits until the deadline, and where a lease is in the way, until it is known whether its holder lives:
    // that may take `times.stale`. Nothing if somebody else has it then. Errors: kSystem.
    static Result<std::optional<FileLock>> acquire(int file, const Directory& directory,
                                                   const std::string& lease, const Deadline& deadline,
                                                   LockMethod method = LockMethod::kFlock,
                                                   const LeaseTimes& times = {});
    // By flock alone. Errors: kSystem, also where there is none (is_without_flock()); `name` is for its
    // message.
    static Result<std::optional<FileLock>> try_flock(int file, std::string_view name);
    // By a lease alone. Errors: kSystem.
    static Result<std::optional<FileLock>> try_lease(const Directory& directory, const std::string& lease,
                                                     const LeaseTimes& times = {});

    LockMethod method() const { return lease_ ? LockMethod::kLease : LockMethod::kFlock; }

    FileLock(FileLock&&) noexcept;
    FileLock& operator=(FileLock&&) noexcept;
    ~FileLock();

  private:
    struct Lease;
    explicit FileLock(std::unique_ptr<Lease> lease);
    std::unique_ptr<Lease> lease_;  // none with flock
};

}  // namespace belay::core
