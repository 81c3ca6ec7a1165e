#include "core/parallel.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(core, in_parallel_does_each_item_once) {
    for (size_t threads : {0, 1, 3, 100}) {
        std::vector<std::atomic<int>> calls(57);
        ASSERT_TRUE(in_parallel(calls.size(), threads, [&](size_t item) -> Result<> {
            ++calls[item];
            return {};
        }));
        for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
    EXPECT_TRUE(in_parallel(0, 4, [](size_t) -> Result<> { return bad_input("never called"); }));
}

TEST(core, in_parallel_begins_nothing_after_an_error) {
    std::vector<size_t> items;
    auto done = in_parallel(10, 1, [&](size_t item) -> Result<> {
        items.push_back(item);
        if (item == 2) return bad_input("item {}", item);
        return {};
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message(), "item 2");
    EXPECT_EQ(items, (std::vector<size_t>{0, 1, 2}));
}

// Whichever of the two is kept first.
TEST(core, in_parallel_tells_what_failed_and_not_who_was_stopped) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> begun = 0;
        auto done = in_parallel(2, 2, [&](size_t item) -> Result<> {
            ++begun;
            while (begun < 2) std::this_thread::yield();
            if (item == 0) return system_error("stopped").because(Cause::kCancelled);
            return system_error("no space").because(Cause::kNoSpace);
        });
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().cause(), Cause::kNoSpace) << done.error().message();
    }
}

TEST(core, in_parallel_keeps_exceptions) {
    auto done = in_parallel(10, 2, [&](size_t) -> Result<> { throw std::runtime_error("thrown"); });
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message().find("thrown"), std::string::npos) << done.error().message();
}

}  // namespace
}  // namespace belay::core
