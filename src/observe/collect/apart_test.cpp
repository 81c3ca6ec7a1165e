#include "observe/collect/apart.h"

#include "schema/tables/host.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::observe::collect {
namespace {

using ::testing::HasSubstr;

// What a made-up source does at a tick, in the child.
using Deed = std::function<core::Result<>(int tick)>;

class MadeUp final : public Collector {
  public:
    explicit MadeUp(Deed deed) : deed_(std::move(deed)) {}
    const schema::Table& table() const override { return schema::kHost; }
    core::Result<> collect(const Sample& sample, stream::Batch& rows) override {
        BELAY_CHECK(deed_(++tick_));
        rows.add_row(sample.time, sample.node);
        rows.set(schema::column(schema::kHost, "load_1m"), static_cast<double>(tick_));
        return {};
    }

  private:
    Deed deed_;
    int tick_ = 0;
};

std::unique_ptr<Collector> apart(const Deed& deed, core::Duration deadline = std::chrono::seconds(20),
                                 core::Duration retry = std::chrono::seconds(60)) {
    return collect_apart({.name = "belay-made-up",
                          .make = [deed] { return std::make_unique<MadeUp>(deed); },
                          .deadline = deadline,
                          .retry = retry},
                         schema::kHost);
}

struct Tick {
    core::Result<> result;
    std::vector<double> values;
    std::vector<int64_t> times;
};
Tick collect(Collector& collector, int64_t time) {
    stream::Batch rows(schema::kHost);
    Tick tick{.result = collector.collect({core::time_from_nanoseconds(time), "n1"}, rows)};
    tick.values = rows.values(schema::column(schema::kHost, "load_1m")).reals;
    tick.times = rows.values(0).integers;
    return tick;
}

TEST(observe_collect, rows_of_another_process_are_as_they_were_made) {
    const auto collector = apart([](int) { return core::Result<>(); });
    EXPECT_FALSE(collector->is_expected()) << "it has said nothing yet";
    for (int64_t i = 1; i < 5; ++i) {
        const Tick tick = collect(*collector, 100 * i);
        ASSERT_TRUE(tick.result) << tick.result.error().message();
        EXPECT_THAT(tick.values, ::testing::ElementsAre(static_cast<double>(i)));
        EXPECT_THAT(tick.times, ::testing::ElementsAre(100 * i));
    }
    EXPECT_TRUE(collector->is_expected());
    EXPECT_GT(collector->helper_cpu_seconds(), 0);
}

TEST(observe_collect, an_error_of_another_process_is_the_collectors_own) {
    const auto collector = apart([](int tick) -> core::Result<> {
        if (tick == 1) return core::errno_error(EACCES, "cannot read stats");
        return {};
    });
    const Tick failed = collect(*collector, 1);
    ASSERT_FALSE(failed.result);
    EXPECT_EQ(failed.result.error().cause(), core::Cause::kDenied);
    EXPECT_EQ(failed.result.error().errno_value(), EACCES);
    EXPECT_TRUE(collect(*collector, 2).result) << "it goes on";
}

TEST(observe_collect, an_exception_ends_the_process_and_is_told) {
    const auto collector = apart([](int) -> core::Result<> { throw std::runtime_error("no such counter"); });
    const Tick failed = collect(*collector, 1);
    ASSERT_FALSE(failed.result);
    EXPECT_THAT(failed.result.error().message(), HasSubstr("no such counter"));
    const Tick later = collect(*collector, 2);
    ASSERT_FALSE(later.result);
    EXPECT_EQ(later.result.error().cause(), core::Cause::kEnded);
}

TEST(observe_collect, a_process_that_crashed_is_replaced_after_a_pause) {
    const auto collector = apart(
        [](int tick) {
            if (tick == 2) raise(SIGSEGV);
            return core::Result<>();
        },
        std::chrono::seconds(20), std::chrono::milliseconds(1));
    EXPECT_TRUE(collect(*collector, 1).result);
    const Tick crashed = collect(*collector, 2);
    ASSERT_FALSE(crashed.result);
    EXPECT_EQ(crashed.result.error().cause(), core::Cause::kEnded);
    EXPECT_THAT(crashed.result.error().message(), HasSubstr("signal 11"));
    Tick again = collect(*collector, 3);
    for (int i = 0; i < 10'000 && !again.result; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        again = collect(*collector, 3);
    }
    ASSERT_TRUE(again.result) << again.result.error().message();
    EXPECT_THAT(again.values, ::testing::ElementsAre(1.0)) << "the first tick of a new one";
}

TEST(observe_collect, a_late_answer_keeps_the_time_at_which_it_was_asked_for) {
    const auto collector = apart(
        [](int tick) {
            if (tick == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
            return core::Result<>();
        },
        std::chrono::milliseconds(1));
    const Tick silent = collect(*collector, 7);
    ASSERT_FALSE(silent.result);
    EXPECT_EQ(silent.result.error().cause(), core::Cause::kTimedOut);
    Tick late = collect(*collector, 8);
    for (int i = 0; i < 10'000 && late.values.empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        late = collect(*collector, 8);
    }
    ASSERT_FALSE(late.times.empty());
    EXPECT_EQ(late.times[0], 7);
}

TEST(observe_collect, a_process_that_is_silent_for_long_is_replaced) {
    const auto collector = apart(
        [](int) {
            for (;;) pause();
            return core::Result<>();
        },
        std::chrono::milliseconds(1), std::chrono::milliseconds(1));
    for (int i = 0; i < 20; ++i) {
        const Tick tick = collect(*collector, i);
        ASSERT_FALSE(tick.result);
        EXPECT_EQ(tick.result.error().cause(), core::Cause::kTimedOut);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

}  // namespace
}  // namespace belay::observe::collect
