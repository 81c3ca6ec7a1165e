#include "stage/retention/exemptions.h"

#include "core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;

const RetentionRoot kScratch{.canonical = "/lustre/scratch", .names = {"/scratch"}};

bool exempts(const std::vector<std::string>& patterns, std::string_view path,
             const RetentionRoot& root = kScratch) {
    return Exemptions(patterns, root).covers(path);
}

TEST(stage_retention_exemptions, of_names_and_paths) {
    const std::vector<std::string> patterns = {".uenv-images", "ada/keep", "bob/*.pt"};
    EXPECT_TRUE(exempts(patterns, "x/.uenv-images/y/z"));
    EXPECT_TRUE(exempts(patterns, ".uenv-images"));
    EXPECT_TRUE(exempts(patterns, "ada/keep/a/b"));
    EXPECT_FALSE(exempts(patterns, "x/ada/keep/a"));
    EXPECT_FALSE(exempts(patterns, "ada/keeper"));
    EXPECT_TRUE(exempts(patterns, "bob/m.pt"));
    EXPECT_FALSE(exempts(patterns, "bob/c/m.pt"));
    EXPECT_FALSE(exempts({}, "a"));
    EXPECT_FALSE(exempts({"keep"}, "Keep")) << "names differ by their case";
}

TEST(stage_retention_exemptions, written_with_the_roots_own_path) {
    for (const char* pattern : {"/scratch/ada/keep", "/lustre/scratch/ada/keep", "/scratch//ada/./keep/",
                                "/scratch/*/keep", "/scratch/**/keep", "/scr*/ada/keep", "/ada/keep"}) {
        EXPECT_TRUE(exempts({pattern}, "ada/keep/x")) << pattern;
        EXPECT_FALSE(exempts({pattern}, "ada/other")) << pattern;
    }
    EXPECT_FALSE(exempts({"/home/ada/keep"}, "ada/keep"));
    EXPECT_FALSE(exempts({"scratch/ada/keep"}, "ada/keep"));
    EXPECT_TRUE(exempts({"scratch/ada/keep"}, "ada/keep",
                        {.canonical = "/lustre/scratch", .names = {"/lustre/scratch", "scratch"}}));
    EXPECT_TRUE(exempts({"/ada/keep"}, "ada/keep", {.canonical = "/"}));
}

TEST(stage_retention_exemptions, a_slash_at_the_end_changes_nothing) {
    EXPECT_TRUE(exempts({"keep/"}, "a/keep/x"));
    EXPECT_TRUE(exempts({"./keep"}, "keep/x"));
    EXPECT_TRUE(exempts({"ada/keep//"}, "ada/keep/x"));
}

TEST(stage_retention_exemptions, a_name_with_brackets_may_be_meant_itself) {
    for (const char* path : {"run[1]/x", "run1/x"}) EXPECT_TRUE(exempts({"run[1]"}, path)) << path;
    EXPECT_TRUE(exempts({"ada/run[1]"}, "ada/run[1]/x"));
    EXPECT_TRUE(exempts({"/scratch/ada/run[1]"}, "ada/run[1]/x"));
}

TEST(stage_retention_exemptions, of_a_whole_tree) {
    const auto whole = [](const char* pattern, const RetentionRoot& root) {
        return Exemptions(std::vector<std::string>{pattern}, root).of_everything().has_value();
    };
    for (const char* pattern : {"/scratch", "/lustre/scratch", "/lustre", "/lustre/", "/l*", "scratch"})
        EXPECT_TRUE(whole(pattern, kScratch)) << pattern;
    for (const char* pattern : {"/home", "/scratch/ada", "s*", "ada", "lustre/scratch"})
        EXPECT_FALSE(whole(pattern, kScratch)) << pattern;
    EXPECT_TRUE(whole(".uenv-images", {.canonical = "/scratch/ada/.uenv-images/x"}));
    EXPECT_TRUE(exempts({"/lustre"}, "any/file"));
}

// Links above the root are the site's; those beneath it are of the people whose files are purged.
TEST(stage_retention_exemptions, links_above_the_root_are_followed_and_none_beneath) {
    const auto place = core::TemporaryDirectory::create().value();
    const fs::path root = fs::canonical(place.path()) / "real";
    fs::create_directories(root / "ada");
    fs::create_directory_symlink(root, place.path() / "link");
    fs::create_directory_symlink(root, root / "ada/keep");
    const auto follow = [](const fs::path& path) {
        std::error_code code;
        return fs::canonical(path, code);
    };
    const auto of = [&](const fs::path& pattern) {
        return Exemptions(std::vector<std::string>{pattern.string()}, {.canonical = root}, follow);
    };
    EXPECT_TRUE(of(place.path() / "link/ada/x").covers("ada/x/y"));
    EXPECT_TRUE(of(place.path() / "link/*/x").covers("ada/x/y"));
    EXPECT_FALSE(of(place.path() / "link/ada/keep/bob").covers("bob"));
    EXPECT_FALSE(of(place.path() / "nothing/ada").covers("ada"));
}

TEST(stage_retention_exemptions, the_names_of_a_root) {
    const auto place = core::TemporaryDirectory::create().value();
    fs::create_directory(place.path() / "real");
    fs::create_directory_symlink("real", place.path() / "link");
    const RetentionRoot root = retention_root(place.path() / "link/").value();
    EXPECT_EQ(root.canonical, fs::canonical(place.path()) / "real");
    EXPECT_TRUE(exempts({(place.path() / "link/keep/x").string()}, "keep/x", root));
    EXPECT_TRUE(exempts({(place.path() / "real/keep/x").string()}, "keep/x", root));
    EXPECT_FALSE(retention_root(place.path() / "nothing"));
    const fs::path before = fs::current_path();
    fs::current_path(place.path());
    const RetentionRoot relative = retention_root("link").value();
    fs::current_path(before);
    EXPECT_TRUE(exempts({(place.path() / "link/keep/x").string()}, "keep/x", relative));
    EXPECT_TRUE(exempts({"link/keep/x"}, "keep/x", relative));
}

}  // namespace
}  // namespace belay::stage
