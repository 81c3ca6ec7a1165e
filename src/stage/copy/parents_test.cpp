#include "stage/copy/parents.h"

#include "core/file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;

class ParentsCase {
  public:
    std::filesystem::path path() const { return place_.path(); }
    // Enters what is told, and notes it.
    Parents parents() {
        return Parents(root_, [this](const core::Directory& directory) -> core::Result<> {
            entered.push_back(directory.path().lexically_relative(path()));
            return {};
        });
    }
    std::vector<std::string> entered;

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create().value();
    core::Directory root_ = core::Directory::open(place_.path()).value();
};

TEST(stage_copy_parents, a_directory_is_entered_once_for_all_files_that_follow_each_other) {
    ParentsCase data;
    Parents parents = data.parents();
    for (const char* file : {"a/b/1", "a/b/2", "a/b/3", "a/1", "a/2", "1", "c/1"}) {
        const auto parent = parents.make(file, 0700);
        ASSERT_TRUE(parent) << parent.error().message();
        std::ofstream((*parent)->path_of(last_of_path(file))) << file;
    }
    EXPECT_THAT(data.entered, ElementsAre("a/b", "a", "c"));
    EXPECT_EQ(core::read_file(data.path() / "a/b/3").value(), "a/b/3");
    EXPECT_EQ(core::read_file(data.path() / "1").value(), "1");
}

TEST(stage_copy_parents, what_is_not_there_is_not_made_by_a_look) {
    ParentsCase data;
    Parents parents = data.parents();
    EXPECT_EQ(parents.find("a/b/1").value(), nullptr);
    EXPECT_TRUE(std::filesystem::is_empty(data.path()));
    EXPECT_NE(parents.find("1").value(), nullptr) << "the root";
}

TEST(stage_copy_parents, no_link_is_followed) {
    ParentsCase data;
    std::filesystem::create_directories(data.path() / "real");
    std::filesystem::create_directory_symlink("real", data.path() / "link");
    Parents parents = data.parents();
    EXPECT_FALSE(parents.find("link/1"));
    EXPECT_FALSE(parents.make("link/below/1", 0700));
    EXPECT_TRUE(std::filesystem::is_empty(data.path() / "real"));
}

}  // namespace
}  // namespace belay::stage
