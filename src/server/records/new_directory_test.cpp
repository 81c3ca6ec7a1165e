#include "server/records/new_directory.h"

#include "core/file.h"
#include "core/testing/sandbox.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class Parent {
  public:
    const core::Directory& directory() const { return directory_; }
    fs::path path() const { return place_.path(); }
    std::vector<std::string> names() const { return directory_.list().value(); }
    std::string content(const std::string& name) const {
        return core::read_file(path() / name / "file").value_or("nothing");
    }
    NewDirectory made(const std::string& content) const {
        auto made = NewDirectory::begin(directory_);
        if (!made) ADD_FAILURE() << made.error().message();
        std::ofstream(made->path() / "file") << content;
        return std::move(*made);
    }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("new_directory_test").value();
    core::Directory directory_ = core::Directory::open(place_.path()).value();
};

void replace_and_check(const Parent& parent) {
    ASSERT_TRUE(parent.made("first").replace("a"));
    EXPECT_EQ(parent.content("a"), "first");
    ASSERT_TRUE(parent.made("second").replace("a"));
    EXPECT_EQ(parent.content("a"), "second");
    EXPECT_THAT(parent.names(), ElementsAre("a"));
}

TEST(server_records, a_directory_is_there_when_it_has_its_name) {
    const Parent parent;
    {
        NewDirectory made = parent.made("a");
        EXPECT_THAT(parent.names(), ElementsAre(StartsWith(".new-")));
        EXPECT_TRUE(std::move(made).create("a").value());
        EXPECT_THAT(parent.names(), ElementsAre("a"));
        EXPECT_FALSE(parent.made("b").create("a").value()) << "the name is taken";
    }
    EXPECT_THAT(parent.names(), ElementsAre("a"));
    EXPECT_EQ(parent.content("a"), "a");
    {
        const NewDirectory dropped = parent.made("c");
    }
    EXPECT_THAT(parent.names(), ElementsAre("a"));
}

TEST(server_records, a_directory_takes_the_place_of_another) {
    replace_and_check(Parent());
}

TEST(server_records, a_directory_takes_a_place_where_names_cannot_be_exchanged) {
    const Parent parent;
    core::expect_where_call_fails(SYS_renameat2, EINVAL, [&] {
        replace_and_check(parent);
        EXPECT_FALSE(parent.made("third").create("a").value());
        EXPECT_TRUE(parent.made("third").create("b").value());
    });
    EXPECT_THAT(parent.names(), ElementsAre("a", "b"));
}

TEST(server_records, what_killed_processes_left_is_removed_and_nothing_else) {
    const Parent parent;
    const NewDirectory living = parent.made("living");
    for (const char* name : {".new-0123", ".gone-4567", "a", ".other"}) {
        fs::create_directory(parent.path() / name);
        fs::create_directory(parent.path() / name / "within");
    }
    ASSERT_TRUE(remove_leftovers(parent.directory()));
    EXPECT_THAT(parent.names(), ElementsAre(StartsWith(".new-"), ".other", "a"));
    EXPECT_EQ(core::read_file(living.path() / "file").value(), "living");
}

TEST(server_records, a_tree_is_removed) {
    const Parent parent;
    ASSERT_TRUE(parent.made("a").create("a").value());
    fs::create_directory_symlink("/", parent.path() / "a" / "root");
    EXPECT_TRUE(remove_tree(parent.directory(), "a").value());
    EXPECT_FALSE(remove_tree(parent.directory(), "a").value());
    EXPECT_THAT(parent.names(), IsEmpty());
    EXPECT_TRUE(fs::exists("/tmp"));
}

}  // namespace
}  // namespace belay::server
