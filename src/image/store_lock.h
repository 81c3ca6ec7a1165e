// One importer of an image at a time, on all nodes that share the store: a lock as core/file_lock.h has it, of
// a file that is there only while somebody holds it. Nothing is wrong if two get in all the same (the store's
// files have names of their own until they are whole); the work is only done twice.
#pragma once

#include "core/deadline.h"
#include "core/file_lock.h"
#include "core/time.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace belay::image {

using core::LeaseTimes;
using core::LockMethod;

class StoreLock {
  public:
    // Nothing if somebody else has it. The file is created, and removed at the end. Errors: kSystem.
    static core::Result<std::optional<StoreLock>> try_acquire(const std::filesystem::path& file,
                                                              LockMethod method = LockMethod::kFlock,
                                                              const LeaseTimes& times = {});

    // Waits until the deadline, on its clock, or until `stopped` is set; `waiting` is called once if there is
    // something to wait for. Errors: kSystem, also when the time is over.
    static core::Result<StoreLock> acquire(const std::filesystem::path& file, core::Clock& clock,
                                           const core::Deadline& deadline,
                                           const std::function<void()>& waiting,
                                           LockMethod method = LockMethod::kFlock,
                                           const LeaseTimes& times = {},
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
