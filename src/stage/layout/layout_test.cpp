#include "stage/layout/layout.h"

#include "core/file.h"
#include "core/text.h"
#include "stage/layout/apply.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string command(const LayoutInput& input) {
    return core::join(layout_command(advise_layout(input).value(), "data"), " ");
}

TEST(stage_layout, by_size) {
    EXPECT_EQ(command({.file_bytes = 0}), "lfs setstripe -c 1 -S 1M data");
    EXPECT_EQ(command({.file_bytes = 4 * kMiB - 1}), "lfs setstripe -c 1 -S 1M data");
    EXPECT_EQ(command({.file_bytes = 4 * kMiB}), "lfs setstripe -c 4 -S 1M data");
    EXPECT_EQ(command({.file_bytes = 64 * kMiB}), "lfs setstripe -c 32 -S 4M data");
    EXPECT_EQ(command({.file_bytes = ~uint64_t{0}}), "lfs setstripe -c 32 -S 4M data");
}

TEST(stage_layout, never_more_stripes_than_servers) {
    EXPECT_EQ(command({.file_bytes = 5 * kMiB, .osts = 2}), "lfs setstripe -c 2 -S 1M data");
    EXPECT_EQ(command({.file_bytes = 500 * kMiB, .osts = 20}), "lfs setstripe -c 20 -S 4M data");
}

TEST(stage_layout, sizes_that_are_not_known_get_a_progressive_layout) {
    EXPECT_EQ(command({.osts = 80}),
              "lfs setstripe -E 4M -c 1 -S 1M -E 64M -c 4 -S 1M -E -1 -c 32 -S 4M data");
    EXPECT_EQ(command({.access = LayoutAccess::kImage}),
              "lfs setstripe -E 4M -c 1 -S 1M -E -1 -c 32 -S 4M data");
    EXPECT_EQ(command({.access = LayoutAccess::kRandom}), "lfs setstripe -c 1 -S 1M data");
    // With one server all parts are equal but for the size of a stripe.
    EXPECT_EQ(command({.osts = 1}), "lfs setstripe -E 64M -c 1 -S 1M -E -1 -c 1 -S 4M data");
}

TEST(stage_layout, files_of_ranks_share_the_servers) {
    const LayoutInput input{.access = LayoutAccess::kPerRank, .file_bytes = 1024 * kMiB, .osts = 80};
    auto stripes = [&](uint64_t ranks) {
        LayoutInput with = input;
        with.clients = ranks;
        return advise_layout(with)->components.front().stripes;
    };
    EXPECT_EQ(stripes(1), 32u);
    EXPECT_EQ(stripes(40), 8u);
    EXPECT_EQ(stripes(80), 4u);
    EXPECT_EQ(stripes(160), 2u);
    EXPECT_EQ(stripes(1000), 1u);
}

TEST(stage_layout, random_reads_belong_on_flash) {
    const auto advice =
        advise_layout({.access = LayoutAccess::kRandom, .file_bytes = 1024 * kMiB, .pool = "flash"}).value();
    EXPECT_EQ(core::join(layout_command(advice, "x"), " "), "lfs setstripe -c 1 -S 1M -p flash x");
    EXPECT_THAT(advice.notes, ElementsAre(HasSubstr("flash")));
}

TEST(stage_layout, wrong_input_is_said) {
    EXPECT_THAT(advise_layout({.clients = 0}).error().message(), HasSubstr("--clients 0"));
    EXPECT_THAT(advise_layout({.osts = 0}).error().message(), HasSubstr("--osts 0"));
    EXPECT_FALSE(parse_layout_access("sideways"));
    EXPECT_EQ(parse_layout_access("per-rank").value(), LayoutAccess::kPerRank);
}

TEST(stage_layout, a_name_that_looks_like_an_option) {
    EXPECT_EQ(layout_command({}, "-c").back(), "./-c");
}

TEST(stage_layout, osts_are_counted) {
    EXPECT_EQ(count_osts("OBDS:\n0: scratch-OST0000_UUID ACTIVE\n1: scratch-OST0001_UUID INACTIVE\n2: "
                         "scratch-OST0002_UUID ACTIVE\n"),
              2u);
    EXPECT_EQ(count_osts(""), 0u);
}

TEST(stage_layout, says_why_it_is_not_set) {
    EXPECT_THAT(why_not_applied({.path = "/tmp"}).value(), HasSubstr("not on a Lustre"));
    EXPECT_THAT(why_not_applied({.path = "/l", .is_lustre = true}).value(), HasSubstr("lfs is not in PATH"));
    EXPECT_THAT(
        why_not_applied({.path = "/l/f", .lfs = "/bin/lfs", .exists = true, .is_lustre = true}).value(),
        HasSubstr("a copy"));
    EXPECT_FALSE(why_not_applied(
        {.path = "/l", .lfs = "/bin/lfs", .exists = true, .is_lustre = true, .is_directory = true}));
}

class FakeLfs {
  public:
    explicit FakeLfs(const std::string& script) {
        std::ofstream(program()) << "#!/bin/sh\n" << script;
        fs::permissions(program(), fs::perms::owner_all);
    }
    fs::path program() const { return directory_.path() / "lfs"; }
    fs::path said() const { return directory_.path() / "said"; }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST(stage_layout, runs_the_command) {
    const FakeLfs lfs("echo \"$@\" > \"$(dirname \"$0\")/said\"\n");
    const LayoutTarget target{
        .path = "/l/dir", .lfs = lfs.program(), .exists = true, .is_lustre = true, .is_directory = true};
    ASSERT_TRUE(apply_layout(advise_layout({.file_bytes = 5 * kMiB}).value(), target));
    EXPECT_EQ(core::read_file(lfs.said()).value(), "setstripe -c 4 -S 1M /l/dir\n");
}

TEST(stage_layout, a_command_that_fails_is_an_error) {
    const FakeLfs lfs("echo 'no such pool' >&2\nexit 22\n");
    const LayoutTarget target{
        .path = "/l/dir", .lfs = lfs.program(), .exists = true, .is_lustre = true, .is_directory = true};
    const auto applied = apply_layout(advise_layout({}).value(), target);
    ASSERT_FALSE(applied);
    EXPECT_THAT(applied.error().message(), HasSubstr("no such pool"));
}

TEST(stage_layout, never_where_it_may_not) {
    const FakeLfs lfs("touch \"$(dirname \"$0\")/said\"\n");
    EXPECT_FALSE(apply_layout(advise_layout({}).value(),
                              {.path = "/tmp", .lfs = lfs.program(), .exists = true, .is_directory = true}));
    EXPECT_FALSE(fs::exists(lfs.said()));
}

TEST(stage_layout, looks_at_a_directory_of_another_file_system) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto target = look_at_layout_target(directory.path()).value();
    EXPECT_TRUE(target.is_directory);
    EXPECT_FALSE(target.is_lustre);
    EXPECT_FALSE(look_at_layout_target(directory.path() / "new")->exists);
    EXPECT_FALSE(look_at_layout_target(directory.path() / "missing/new"));
}

}  // namespace
}  // namespace belay::stage
