#include "http/task.h"

#include "core/error.h"
#include "http/workers.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

// Runs what is posted in the thread that calls run_until_end().
class TestScheduler : public Scheduler {
  public:
    void post(std::function<void()> step) override {
        std::lock_guard lock(mutex_);
        steps_.push_back(std::move(step));
        posted_.notify_one();
    }
    // Until `end` is true after a step.
    void run_until(const bool& end) {
        while (!end) {
            std::unique_lock lock(mutex_);
            posted_.wait(lock, [this] { return !steps_.empty(); });
            const std::function<void()> step = std::move(steps_.front());
            steps_.pop_front();
            lock.unlock();
            step();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> steps_;
};

template <typename T>
T value_of(Task<T> task) {
    const auto scheduler = std::make_shared<TestScheduler>();
    bool ended = false;
    task.start(scheduler, [&] { ended = true; });
    scheduler->run_until(ended);
    return task.result();
}

Task<int> number_task(int number) {
    co_return number;
}
Task<int64_t> sum_task(int up_to) {
    int64_t sum = 0;
    for (int i = 1; i <= up_to; ++i) sum += co_await number_task(i);
    co_return sum;
}
Task<int> throwing_task() {
    co_await number_task(1);
    throw std::runtime_error("thrown");
}
Task<int> doubled_by_worker(Workers& workers, std::shared_ptr<int> number) {
    auto work = run_blocking(workers, [number] { return *number * 2; });
    const auto doubled = co_await work;
    co_return doubled.value_or(-1);
}
Task<std::string> catching_task() {
    try {
        co_await throwing_task();
    } catch (const std::runtime_error& error) {
        co_return error.what();
    }
    co_return "nothing";
}

Task<long> users_of(std::shared_ptr<int> held) {
    co_return held.use_count();
}
// What stands in an expression with co_await in this module.
Task<long> passing_task(std::shared_ptr<int> held) {
    long users = co_await users_of(held);
    users += co_await users_of(std::shared_ptr<int>(held));
    {
        Task<long> named = users_of(held);  // which has its arguments until its own end
        users += co_await std::move(named);
    }
    std::shared_ptr<int> moved = held;
    users += co_await users_of(std::move(moved));
    co_return users;
}

TEST(http, arguments_of_tasks_are_destroyed_once) {
    const auto held = std::make_shared<int>(1);
    EXPECT_EQ(value_of(passing_task(held)), 4 * 3);  // here, in passing_task and in users_of
    EXPECT_EQ(held.use_count(), 1);
}

TEST(http, tasks_await_tasks) {
    EXPECT_EQ(value_of(sum_task(10)), 55);
    // Not one frame of the stack for each.
    EXPECT_EQ(value_of(sum_task(1'000'000)), 500'000'500'000);
}

TEST(http, what_a_task_throws_comes_out_where_it_is_awaited) {
    EXPECT_EQ(value_of(catching_task()), "thrown");
    EXPECT_THROW(value_of(throwing_task()), std::runtime_error);
}

TEST(http, a_task_that_never_began_is_destroyed) {
    const auto held = std::make_shared<int>(1);
    Workers workers(1, 1);
    {
        const Task<int> task = doubled_by_worker(workers, held);
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(http, blocking_work_runs_elsewhere_and_its_value_comes_back) {
    Workers workers(2, 10);
    const auto number = std::make_shared<int>(21);
    EXPECT_EQ(value_of(doubled_by_worker(workers, number)), 42);
    EXPECT_EQ(number.use_count(), 1);
    const auto caller = std::this_thread::get_id();
    auto threads = [](Workers& pool) -> Task<std::pair<std::thread::id, std::thread::id>> {
        auto work = run_blocking(pool, [] { return std::this_thread::get_id(); });
        auto there = co_await work;
        co_return {there.value(), std::this_thread::get_id()};
    };
    const auto [there, after] = value_of(threads(workers));
    EXPECT_NE(there, caller);
    EXPECT_EQ(after, caller);
}

TEST(http, what_blocking_work_throws_comes_back_too) {
    Workers workers(1, 10);
    auto task = [](Workers& pool) -> Task<int> {
        auto work = run_blocking(pool, []() -> int { throw std::runtime_error("thrown"); });
        auto value = co_await work;
        co_return value.value();
    };
    EXPECT_THROW(value_of(task(workers)), std::runtime_error);
}

TEST(http, too_much_blocking_work_is_refused) {
    Workers workers(1, 1);
    std::latch begun(1), release(1);
    ASSERT_TRUE(workers.try_post([&] {
        begun.count_down();
        release.wait();
    }));
    begun.wait();
    ASSERT_TRUE(workers.try_post([] {}));
    EXPECT_FALSE(workers.try_post([] {}));
    EXPECT_EQ(workers.waiting(), 1u);
    auto refused = [](Workers& pool) -> Task<int> {
        auto work = run_blocking(pool, [] { return 1; });
        auto value = co_await work;
        co_return value ? 200 : value.error().status;
    };
    EXPECT_EQ(value_of(refused(workers)), 503);
    bool ran = false;
    workers.post([&] { ran = true; });  // beyond the bound
    release.count_down();
    auto last = [](Workers& pool) -> Task<int> {
        auto work = run_blocking_unbounded(pool, [] { return 1; });
        auto value = co_await work;
        co_return value.value();
    };
    EXPECT_EQ(value_of(last(workers)), 1);
    EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace belay::http
