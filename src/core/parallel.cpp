#include "core/parallel.h"

#include "core/program.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace belay::core {

namespace {

class Items {
  public:
    Items(size_t count, const std::function<Result<>(size_t)>& work) : count_(count), work_(work) {}

    // Until there are none left.
    void take() {
        for (size_t item = next_++; item < count_ && !has_failed_; item = next_++)
            if (auto done = without_exceptions([&] { return work_(item); }); !done)
                keep(std::move(done.error()));
    }

    Result<> result() {
        if (error_) return std::unexpected(std::move(*error_));
        return {};
    }

  private:
    void keep(Error error) {
        std::lock_guard lock(mutex_);
        has_failed_ = true;
        // A thread that another's failure stopped may be first to say so.
        if (!error_ || (error_->cause() == Cause::kCancelled && error.cause() != Cause::kCancelled))
            error_ = std::move(error);
    }

    const size_t count_;
    const std::function<Result<>(size_t)>& work_;
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> has_failed_ = false;
    std::mutex mutex_;
    std::optional<Error> error_;
};

}  // namespace

Result<> in_parallel(size_t count, size_t threads, const std::function<Result<>(size_t)>& work) {
    Items items(count, work);
    {
        std::vector<std::jthread> helpers;
        auto start = [&] {
            while (helpers.size() + 1 < std::min(count, threads)) helpers.emplace_back([&] { items.take(); });
        };
        (void)exception_of(start);  // at a limit of processes fewer do it
        items.take();
    }
    return items.result();
}

}  // namespace belay::core
