#include "stage/copy/clean.h"

#include "stage/copy/copy_testing.h"

namespace belay::stage {
namespace {

using copy_testing::CopyCase;

TEST(stage_copy_clean, a_copy_goes_and_its_directory_with_it) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    const auto cleaned = clean_copy(data.destination());
    ASSERT_TRUE(cleaned) << cleaned.error().message();
    EXPECT_EQ(cleaned->files, data.wanted().size());
    EXPECT_EQ(cleaned->bytes, data.source_bytes());
    EXPECT_EQ(cleaned->kept_count, 0U);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

TEST(stage_copy_clean, what_others_wrote_stays) {
    CopyCase data;
    data.some_files();
    ASSERT_TRUE(data.here());
    std::ofstream(data.destination() / "class1/result.txt") << "mine";
    std::ofstream(data.destination() / "class2/002.jpg") << "changed";
    const auto cleaned = clean_copy(data.destination());
    ASSERT_TRUE(cleaned) << cleaned.error().message();
    EXPECT_EQ(cleaned->kept, std::vector<std::string>{"class2/002.jpg"});
    EXPECT_EQ(data.copied(), (std::map<std::string, std::string>{{"class1/result.txt", "mine"},
                                                                 {"class2/002.jpg", "changed"}}));
}

TEST(stage_copy_clean, a_directory_without_a_copy_is_not_touched) {
    CopyCase data;
    data.some_files();
    const auto cleaned = clean_copy(data.source());
    ASSERT_FALSE(cleaned);
    EXPECT_EQ(cleaned.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_FALSE(data.wanted().empty());
}

TEST(stage_copy_clean, parts_of_an_unfinished_copy_go) {
    CopyCase data;
    data.some_files();
    auto process = core::Work::start({.what = "a copy"}, [&]() -> core::Result<std::string> {
                       data.options.faults.stored = CopyCase::die_at(20, data.destination());
                       BELAY_CHECK(data.here());
                       return "whole";
                   }).value();
    ASSERT_FALSE(process.finish(core::Deadline::after(std::chrono::seconds(60))));
    const auto cleaned = clean_copy(data.destination());
    ASSERT_TRUE(cleaned) << cleaned.error().message();
    EXPECT_TRUE(cleaned->unfinished);
    EXPECT_FALSE(std::filesystem::exists(data.destination()));
}

}  // namespace
}  // namespace belay::stage
