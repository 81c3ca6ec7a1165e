// Threads for what blocks: files, databases, other programs. Those that serve connections must not wait for such things.
#pragma once

#include "http/refusal.h"
#include "http/task.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace belay::http {

class Workers {
  public:
    // At most `most_waiting` jobs wait for a thread.
    Workers(size_t threads, size_t most_waiting);
    // After all jobs have ended, also those that wait: each may have a task that awaits it.
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // False where too many wait. A job must not throw.
    bool try_post(std::function<void()> job);
    // Beyond that bound, for those who are bounded otherwise.
    void post(std::function<void()> job);
    size_t waiting() const;

  private:
    void work();

    const size_t most_waiting_;
    mutable std::mutex mutex_;
    std::condition_variable something_to_do_;
    std::deque<std::function<void()>> jobs_;
    bool ending_ = false;
    std::vector<std::jthread> threads_;
};

// 503: with a Retry-After (response.h).
std::unexpected<Refusal> workers_are_busy();

// Lets a function run in a worker's thread and gives its value where the task's scheduler runs. It must have a name to be awaited:
// GCC 12 destroys what a lambda has captured twice where that stands in the same expression as co_await.
template <typename Value>
class Blocking {
  public:
    static_assert(!std::is_void_v<Value>, "let it return core::Result<>");

    Blocking(Workers& workers, std::move_only_function<Value()> function, bool bounded)
        : workers_(workers), function_(std::move(function)), bounded_(bounded) {}
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

    struct Awaiter {
        Blocking& work;
        bool await_ready() const noexcept { return false; }
        template <typename Promise>
        bool await_suspend(std::coroutine_handle<Promise> task) {
            return work.begin(task, task.promise().scheduler);
        }
        // Errors: 503 where too many wait for a worker. Throws what the function has thrown.
        Checked<Value> await_resume() {
            if (work.failure_) std::rethrow_exception(work.failure_);
            if (!work.value_) return workers_are_busy();
            return std::move(*work.value_);
        }
    };
    Awaiter operator co_await() & { return Awaiter{*this}; }
    Awaiter operator co_await() && = delete;

  private:
    bool begin(std::coroutine_handle<> task, std::shared_ptr<Scheduler> scheduler) {
        // The lambda has the scheduler: this object may be gone as soon as the task goes on.
        auto job = [this, task, scheduler = std::move(scheduler)] {
            run();
            scheduler->post([task] { task.resume(); });
        };
        if (bounded_) return workers_.try_post(std::move(job));
        workers_.post(std::move(job));
        return true;
    }
    void run() {
        try {
            value_.emplace(function_());
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    Workers& workers_;
    std::move_only_function<Value()> function_;
    bool bounded_;
    std::optional<Value> value_;
    std::exception_ptr failure_;
};

template <typename Function>
Blocking<std::invoke_result_t<Function&>> run_blocking(Workers& workers, Function function) {
    return {workers, std::move(function), true};
}
// Of a response that has begun: connections bound how many there are.
template <typename Function>
Blocking<std::invoke_result_t<Function&>> run_blocking_unbounded(Workers& workers, Function function) {
    return {workers, std::move(function), false};
}

}  // namespace belay::http
