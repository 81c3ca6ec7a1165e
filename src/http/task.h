// Coroutines of this module and of its handlers. A task begins when it is awaited and goes on, after each wait, where its
// scheduler runs it: all that belongs to one connection runs there, one thing after the other, whatever the number of threads.
//
//   Task<Response> show(Request& request) {
//       auto work = request.run_blocking([&] { return query(); });
//       BELAY_CO_TRY(rows, co_await work);
//       co_return Response::json(text_of(rows));
//   }
//
// What a task is given by reference must live until it ends. GCC 12 destroys temporaries in an expression with co_await twice
// where they are lambdas or aggregates: give those a name before.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace belay::http {

// Runs what it is given later, one after the other. Any thread may post.
class Scheduler {
  public:
    virtual ~Scheduler() = default;
    virtual void post(std::function<void()> step) = 0;
};

namespace task_detail {

struct PromiseBase {
    std::shared_ptr<Scheduler> scheduler;
    std::coroutine_handle<> awaiting;  // who goes on when this one ends
    std::function<void()> on_end;      // of a task that nobody awaits
    std::exception_ptr failure;

    struct FinalAwaiter {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) noexcept {
            PromiseBase& promise = task.promise();
            if (promise.awaiting) return promise.awaiting;
            // Posted: it may destroy this task.
            if (promise.on_end) promise.scheduler->post(std::move(promise.on_end));
            return std::noop_coroutine();
        }
        void await_resume() noexcept {}
    };
    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { failure = std::current_exception(); }
};

}  // namespace task_detail

template <typename T>
class [[nodiscard]] Task {
  public:
    struct promise_type : task_detail::PromiseBase {
        std::optional<T> value;
        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        void return_value(T result) { value.emplace(std::move(result)); }
    };
    using Handle = std::coroutine_handle<promise_type>;

    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (handle_) handle_.destroy();
    }

    class Awaiter {
      public:
        explicit Awaiter(Handle task) : task_(task) {}
        bool await_ready() const noexcept { return false; }
        // Begins the task here and not by symmetric transfer, which GCC makes a call where it does not optimise: a loop over
        // tasks that never wait would fill the stack.
        template <typename Promise>
        bool await_suspend(std::coroutine_handle<Promise> awaiting) {
            task_.promise().scheduler = awaiting.promise().scheduler;
            task_.resume();
            if (task_.done()) return false;
            task_.promise().awaiting = awaiting;
            return true;
        }
        T await_resume() { return take(task_); }

      private:
        Handle task_;
    };
    Awaiter operator co_await() && { return Awaiter(handle_); }

    // Begins it where nobody awaits it. `on_end` is posted to the scheduler at the end; until then the task must live.
    // Called where the scheduler runs.
    void start(std::shared_ptr<Scheduler> scheduler, std::function<void()> on_end) {
        handle_.promise().scheduler = std::move(scheduler);
        handle_.promise().on_end = std::move(on_end);
        handle_.resume();
    }
    // What a task that has ended gave, once. Throws what the task has thrown.
    T result() { return take(handle_); }

  private:
    explicit Task(Handle handle) : handle_(handle) {}
    static T take(Handle task) {
        if (task.promise().failure) std::rethrow_exception(task.promise().failure);
        return std::move(*task.promise().value);
    }

    Handle handle_;
};

}  // namespace belay::http

#define BELAY_CO_TRY_INNER(result, name, expression)                   \
    auto result = (expression);                                        \
    if (!result) co_return std::unexpected(std::move(result.error())); \
    auto name = std::move(*result)
// As BELAY_TRY and BELAY_CHECK of core/error.h, in a coroutine.
#define BELAY_CO_TRY(name, expression) \
    BELAY_CO_TRY_INNER(BELAY_CONCAT(belay_result_, __LINE__), name, expression)
#define BELAY_CO_CHECK(expression)                                                     \
    do {                                                                               \
        auto belay_result = (expression);                                              \
        if (!belay_result) co_return std::unexpected(std::move(belay_result.error())); \
    } while (false)
