#include "bench/train/stage_together.h"

#include "bench/train/test_ranks.h"
#include "core/file.h"

#include <mutex>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

namespace fs = std::filesystem;
using core::Result;
using testing::HasSubstr;

Result<std::vector<std::string>> all_need_all() {
    return std::vector<std::string>();
}

TEST(bench, staging_is_shared_by_those_who_copy_into_the_same_directory) {
    const auto directory = *core::TemporaryDirectory::create();
    const fs::path from = directory.path() / "from";
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        ASSERT_TRUE(core::make_directories(from));
        ASSERT_TRUE(core::replace_file(from / name, name));
    }
    // Two ranks on one node, and one on another, as "srun -N2 -n3" has them.
    Ranks(3).run([&](Group& group) {
        const fs::path to = directory.path() / (group.rank() < 2 ? "one" : "other");
        const auto staged = stage_together(group, from, to, all_need_all);
        ASSERT_TRUE(staged) << staged.error().message();
        EXPECT_EQ(staged->files, 10U) << "each directory has all five";
        EXPECT_EQ(staged->bytes, 10U);
        for (const char* name : {"a", "b", "c", "d", "e"})
            EXPECT_EQ(core::read_file(to / name).value_or("missing"), name);
    });
}

TEST(bench, staging_copies_only_what_a_rank_needs) {
    const auto directory = *core::TemporaryDirectory::create();
    const fs::path from = directory.path() / "from", to = directory.path() / "to";
    ASSERT_TRUE(core::make_directories(from));
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(core::replace_file(from / name, name));
    Ranks(2).run([&](Group& group) {
        const auto staged = stage_together(group, from, to, [&]() -> Result<std::vector<std::string>> {
            return std::vector<std::string>{group.rank() == 0 ? "a" : "b"};
        });
        ASSERT_TRUE(staged) << staged.error().message();
        EXPECT_EQ(staged->files, 2U);
    });
    EXPECT_TRUE(fs::exists(to / "a") && fs::exists(to / "b"));
    EXPECT_FALSE(fs::exists(to / "c"));
}

TEST(bench, a_rank_whose_work_fails_ends_that_of_the_others) {
    Ranks(3).run([](Group& group) {
        const auto done = while_all_are_there(group, [&](const std::atomic<bool>& stop) -> Result<> {
            if (group.rank() == 1) return core::bad_input("nothing there");
            while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return {};
        });
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().message(), HasSubstr(group.rank() == 1 ? "nothing there" : "rank 1 failed"));
    });
}

TEST(bench, ranks_that_take_longer_are_waited_for) {
    Ranks(2).run([](Group& group) {
        const auto done = while_all_are_there(group, [&](const std::atomic<bool>&) -> Result<> {
            if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
            return {};
        });
        EXPECT_TRUE(done) << done.error().message();
    });
}

}  // namespace
}  // namespace belay::bench
