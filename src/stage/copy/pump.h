// From the source into rank 0's own copy; and what keeps the state of a copy on the disk.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stage/copy/source.h"
#include "stage/copy/store.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace belay::stage {

struct PumpSettings {
    size_t readers = 1;  // threads
    uint64_t rate = 0;   // bytes a second at most; 0: no limit
    const std::atomic<bool>* stop = nullptr;
    std::function<void(uint64_t held)> stored = {};
};

// Reads every chunk that the store does not hold, each once. The bytes that were read. Errors: those of
// `read` and of CopyStore::put(); kCancelled.
core::Result<uint64_t> pump(const ReadSegment& read, CopyStore& store, const PumpSettings& settings);

// Brings what came to the disk every so often, and at its end.
class Keeper {
  public:
    Keeper(CopyStore& store, core::Duration interval);
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;
    ~Keeper();

  private:
    CopyStore& store_;
    std::jthread thread_;
};

}  // namespace belay::stage
