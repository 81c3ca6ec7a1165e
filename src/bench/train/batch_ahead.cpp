#include "bench/train/batch_ahead.h"

#include "core/program.h"

namespace belay::bench {

BatchAhead::BatchAhead(const Data& data, Split split, std::vector<std::vector<uint32_t>> batches)
    : data_(data),
      split_(split),
      batches_(std::move(batches)),
      thread_([this](const std::stop_token& stop) { load_all(stop); }) {}

BatchAhead::~BatchAhead() = default;

void BatchAhead::load_all(const std::stop_token& stop) {
    for (size_t i = 0; i < batches_.size(); ++i) {
        {
            std::unique_lock lock(mutex_);
            // Whoever asks for batch i + 1 has done with batch i - 1, whose buffer that one needs.
            if (!changed_.wait(lock, stop, [&] { return i <= asked_; })) return;
        }
        auto loaded =
            core::without_exceptions([&] { return data_.load(split_, batches_[i], buffers_[i % 2]); });
        const std::lock_guard lock(mutex_);
        ++loaded_;
        const bool failed = !loaded;
        failure_ = std::move(loaded);
        changed_.notify_all();
        if (failed) return;
    }
}

core::Result<const Batch*> BatchAhead::next() {
    std::unique_lock lock(mutex_);
    const size_t wanted = asked_++;
    changed_.notify_all();
    changed_.wait(lock, [&] { return loaded_ > wanted || !failure_; });
    if (!failure_ && loaded_ <= wanted + 1) return std::unexpected(failure_.error());
    return &buffers_[wanted % 2];
}

}  // namespace belay::bench
