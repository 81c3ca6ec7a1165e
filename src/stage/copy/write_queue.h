// Chunks that came and are to be written, a few at a time, so that the network and the disk work at the same
// time.
#pragma once

#include "core/error.h"
#include "stage/copy/buffer.h"
#include "stage/copy/store.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace belay::stage {

class WriteQueue {
  public:
    // `stored` is called after each chunk, with how many were written.
    WriteQueue(CopyStore& store, std::function<void(uint64_t)> stored);
    WriteQueue(const WriteQueue&) = delete;
    WriteQueue& operator=(const WriteQueue&) = delete;
    // What waits is written before.
    ~WriteQueue();

    // Waits until there is room. The content stands in `content` behind `skip` bytes; afterwards `content` is
    // memory of an earlier one. Errors: that of the first write that failed.
    core::Result<> push(uint64_t chunk, uint32_t checksum, ChunkBuffer& content, size_t skip);
    // Until all that was pushed is written. Errors: as push().
    core::Result<> drain();
    std::optional<core::Error> failure() const;

  private:
    static constexpr size_t kMostWaiting = 2;
    struct Item {
        uint64_t chunk = 0;
        uint32_t checksum = 0;
        size_t skip = 0;
        ChunkBuffer content = {};
    };
    void write(const std::stop_token& ends);
    core::Result<> result() const;  // with the lock

    CopyStore& store_;
    std::function<void(uint64_t)> stored_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Item> waiting_;
    std::vector<ChunkBuffer> free_;
    bool writes_ = false;
    uint64_t written_ = 0;
    std::optional<core::Error> failure_;
    std::jthread thread_;
};

}  // namespace belay::stage
