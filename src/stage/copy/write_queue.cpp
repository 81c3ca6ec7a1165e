#include "stage/copy/write_queue.h"

#include "core/program.h"

namespace belay::stage {

using core::Result;

WriteQueue::WriteQueue(CopyStore& store, std::function<void(uint64_t)> stored)
    : store_(store),
      stored_(std::move(stored)),
      thread_([this](const std::stop_token& ends) { write(ends); }) {}

WriteQueue::~WriteQueue() {
    (void)drain();
    thread_.request_stop();
    thread_.join();
}

Result<> WriteQueue::result() const {
    if (failure_) return std::unexpected(*failure_);
    return {};
}

Result<> WriteQueue::push(uint64_t chunk, uint32_t checksum, ChunkBuffer& content, size_t skip) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting || failure_; });
    BELAY_CHECK(result());
    waiting_.push_back({chunk, checksum, skip, std::move(content)});
    content = {};
    if (!free_.empty()) {
        content = std::move(free_.back());
        free_.pop_back();
    }
    changed_.notify_all();
    return {};
}

Result<> WriteQueue::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return (waiting_.empty() && !writes_) || failure_; });
    return result();
}

std::optional<core::Error> WriteQueue::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void WriteQueue::write(const std::stop_token& ends) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, ends, [this] { return !waiting_.empty(); })) {
        Item item = std::move(waiting_.front());
        waiting_.pop_front();
        writes_ = true;
        changed_.notify_all();
        lock.unlock();
        auto put = core::without_exceptions(
            [&] { return store_.put(item.chunk, item.checksum, item.content, item.skip); });
        if (put && stored_) stored_(++written_);
        lock.lock();
        writes_ = false;
        free_.push_back(std::move(item.content));
        if (!put) failure_ = std::move(put.error());
        changed_.notify_all();
        if (failure_) return;
    }
}

}  // namespace belay::stage
