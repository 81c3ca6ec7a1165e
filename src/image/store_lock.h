// One importer of an image at a time, on all nodes that share the store.
//
// flock(2), which Linux carries to the servers of NFS and of Lustre with "-o flock" and lets go when the
// holder dies. Where a file system has none, a lease stands in for it: a file that its holder touches every
// few seconds, and that another may take away when it has not been touched for a minute. Nothing is wrong if
// two get in all the same (the store's files have names of their own until they are whole); the work is only
// done twice.
#pragma once

#include "core/deadline.h"
#include "core/file.h"
#include "core/time.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace belay::image {

enum class LockMethod { kFlock, kLease };

struct LeaseTimes {
    core::Duration touch = std::chrono::seconds(5);
    core::Duration stale = std::chrono::seconds(60);
};

class StoreLock {
  public:
    // Nothing if somebody else has it. The file is created, and removed at the end. Errors: kSystem.
    static core::Result<std::optional<StoreLock>> try_acquire(const std::filesystem::path& file,
                                                              LockMethod method = LockMethod::kFlock);

    // Waits until the deadline, on its clock, or until `stopped` is set; `waiting` is called once if there is
    // something to wait for. Errors: kSystem, also when the time is over.
    static core::Result<StoreLock> acquire(const std::filesystem::path& file, core::Clock& clock,
                                           const core::Deadline& deadline,
                                           const std::function<void()>& waiting,
                                           LockMethod method = LockMethod::kFlock, LeaseTimes times = {},
                                           const std::atomic<bool>* stopped = nullptr);

    StoreLock(StoreLock&&) noexcept;
    StoreLock& operator=(StoreLock&&) noexcept;
    ~StoreLock();

  private:
    struct State;
    explicit StoreLock(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::image
