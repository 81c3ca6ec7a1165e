// The chunks that came last, in memory: to children that keep up they go on from here, and are not read back.
#pragma once

#include "stage/copy/buffer.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>

namespace belay::stage {

// From any thread.
class RecentChunks {
  public:
    static constexpr size_t kMostBytes = size_t{32} << 20;

    struct Content {
        ChunkBuffer buffer;
        size_t skip = 0;  // bytes of the buffer before it
        std::string_view view() const { return buffer.view().substr(skip); }
    };

    // Takes the memory of `content`, in which the chunk stands behind `skip` bytes. What is in `content` afterwards
    // is memory to be used again, if any.
    void keep(uint64_t chunk, ChunkBuffer& content, size_t skip) {
        if (content.size() > kMostBytes) return;
        const std::lock_guard lock(mutex_);
        bytes_ += content.size();
        held_.push_back({chunk, std::make_shared<Content>(std::move(content), skip)});
        content = {};
        while (bytes_ > kMostBytes) {
            std::shared_ptr<Content> oldest = std::move(held_.front().content);
            held_.pop_front();
            bytes_ -= oldest->buffer.size();
            // Nobody gets it from here any more, so that nobody can begin to read it.
            if (oldest.use_count() != 1) continue;
            std::atomic_thread_fence(std::memory_order_acquire);  // after all reads of those who had it
            content = std::move(oldest->buffer);
        }
    }

    // Nothing where it has given way to others.
    std::shared_ptr<const Content> find(uint64_t chunk) const {
        const std::lock_guard lock(mutex_);
        for (const Held& held : held_)
            if (held.chunk == chunk) return held.content;
        return nullptr;
    }

  private:
    struct Held {
        uint64_t chunk = 0;
        std::shared_ptr<Content> content;
    };
    mutable std::mutex mutex_;
    std::deque<Held> held_;  // in the order in which they came
    size_t bytes_ = 0;
};

}  // namespace belay::stage
