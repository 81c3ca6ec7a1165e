#include "stage/retention/survey.h"

#include "core/file.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// All of it was last read and written on 1 January 2020.
class SurveyedTree {
  public:
    SurveyedTree(std::initializer_list<std::string> names) {
        for (const std::string& name : names) {
            fs::create_directories((path() / name).parent_path());
            std::ofstream(path() / name) << "old";
            const timespec times[2] = {{1577836800, 0}, {1577836800, 0}};
            EXPECT_EQ(utimensat(AT_FDCWD, (path() / name).c_str(), times, 0), 0);
        }
    }
    const fs::path& path() const { return directory_.path(); }
    Survey survey(const RetentionPolicy& policy, const fs::path& root = {}) const {
        return stage::survey(root.empty() ? path() : root, policy,
                             {.threads = 2, .now = core::system_clock().now()})
            .value();
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

std::vector<std::string> listed(const Survey& survey) {
    std::vector<std::string> found;
    for (const PurgeEntry& entry : survey.list.entries) found.push_back(entry.path);
    return found;
}

TEST(stage_retention_survey, an_exemption_with_the_path_of_the_root_is_one) {
    const SurveyedTree tree{"ada/keep/x", "ada/y"};
    const std::string root = fs::canonical(tree.path()).string();
    const Survey survey = tree.survey({.days = 30, .exempt = {root + "/ada/keep"}});
    EXPECT_THAT(listed(survey), ElementsAre("ada/y"));
    EXPECT_EQ(survey.list.root, root);
    EXPECT_THAT(survey.warnings, Not(Contains(HasSubstr("exempts nothing"))));
}

TEST(stage_retention_survey, a_root_behind_a_link_and_a_relative_one) {
    const SurveyedTree tree{"real/ada/keep/x", "real/ada/y"};
    fs::create_directory_symlink("real", tree.path() / "link");
    const std::string exempt = (tree.path() / "link/ada/keep").string();
    EXPECT_THAT(listed(tree.survey({.days = 30, .exempt = {exempt}}, tree.path() / "link")),
                ElementsAre("ada/y"));
    EXPECT_THAT(listed(tree.survey({.days = 30, .exempt = {exempt}}, tree.path() / "real")),
                ElementsAre("ada/y"));
    const fs::path before = fs::current_path();
    fs::current_path(tree.path());
    const Survey relative = tree.survey({.days = 30, .exempt = {exempt}}, "link");
    fs::current_path(before);
    EXPECT_THAT(listed(relative), ElementsAre("ada/y"));
    EXPECT_EQ(relative.list.root, (fs::canonical(tree.path()) / "real").string());
}

TEST(stage_retention_survey, what_matches_nothing_is_told) {
    const SurveyedTree tree{"ada/x"};
    const Survey survey = tree.survey({.days = 30, .exempt = {"/elsewhere/ada", "ada/x/"}});
    EXPECT_THAT(survey.warnings, Contains(HasSubstr("\"/elsewhere/ada\" matches nothing")));
    EXPECT_THAT(survey.warnings, Not(Contains(HasSubstr("ada/x"))));
    EXPECT_THAT(listed(survey), IsEmpty());
}

TEST(stage_retention_survey, of_no_users_nothing_is_listed) {
    const SurveyedTree tree{"x"};
    EXPECT_THAT(listed(tree.survey({.days = 30, .users = std::vector<std::string>()})), IsEmpty());
}

TEST(stage_retention_survey, what_is_mounted_again_is_not_listed) {
    const SurveyedTree tree{"a/x"};
    const SurveyedTree other{"secret"};
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount(other.path().c_str(), (tree.path() / "a").c_str(), nullptr, MS_BIND, nullptr) != 0)
            _exit(9);
        _exit(listed(tree.survey({.days = 30})).empty() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9) GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(stage_retention_survey, what_is_no_directory_is_the_persons_mistake) {
    const SurveyedTree tree{"file"};
    for (const char* name : {"file", "nothing"})
        EXPECT_EQ(stage::survey(tree.path() / name, {.days = 30}, {}).error().kind(),
                  core::ErrorKind::kBadInput)
            << name;
}

TEST(stage_retention_survey, a_stop_is_heard_and_progress_told) {
    const SurveyedTree tree{"a/x", "b/y"};
    const std::atomic<bool> stop = true;
    EXPECT_EQ(stage::survey(tree.path(), {.days = 30}, {.stop = &stop}).error().cause(),
              core::Cause::kCancelled);
    uint64_t looked = 0;
    ASSERT_TRUE(
        stage::survey(tree.path(), {.days = 30}, {.progress = [&](uint64_t names) { looked = names; }}));
    EXPECT_GT(looked, 0U);
}

TEST(stage_retention_survey, json) {
    const SurveyedTree tree{"old", "bad\xff"};
    const Survey survey = tree.survey({.days = 30, .exempt = {"no such file"}, .quota_bytes = 1 << 20});
    const auto json = to_json(survey, {.days = 30, .quota_bytes = 1 << 20});
    EXPECT_EQ(json["due"]["files"], 2);
    EXPECT_TRUE(json["users"][0]["quota_bytes_share"].is_number());
    EXPECT_TRUE(json["users"][0]["quota_inodes_share"].is_null());
    EXPECT_THAT(json["warnings"][0].get<std::string>(), HasSubstr("no such file"));
    EXPECT_FALSE(json.dump().empty());
}

}  // namespace
}  // namespace belay::stage
