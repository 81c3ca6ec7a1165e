#include "iotrace/shared_trace.h"

#include "core/fork.h"
#include "core/process.h"
#include "iotrace/reader.h"

#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::iotrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class iotrace_shared : public testing::Test {
  protected:
    SharedTrace join(std::string_view name = "belay-io-n1-12.0") {
        return SharedTrace::join(directory.path(), name).value();
    }
    size_t files() const {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()));
    }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
};

TEST_F(iotrace_shared, the_last_one_removes_what_the_first_one_made) {
    std::optional<SharedTrace> first(join());
    ASSERT_TRUE(IoTraceReader::open(first->path()));
    {
        const SharedTrace second = join();
        EXPECT_EQ(second.path(), first->path());
        first.reset();
        EXPECT_TRUE(fs::exists(second.path()));
    }
    EXPECT_EQ(files(), 0U);
}

TEST_F(iotrace_shared, what_a_killed_one_left_goes_with_the_next_of_any_step) {
    ASSERT_TRUE(IoTraceReader::create(directory.path() / "belay-io-n1-11.0"));
    ASSERT_TRUE(core::replace_file(directory.path() / "belay-other", "x"));
    const SharedTrace held = join("belay-io-n1-13.0");
    const SharedTrace next = join();
    EXPECT_FALSE(fs::exists(directory.path() / "belay-io-n1-11.0"));
    EXPECT_EQ(files(), 3U) << "what is held, and what is not of this, stays";
}

TEST_F(iotrace_shared, what_has_the_name_already_and_is_no_trace_of_ones_own_is_an_error) {
    ASSERT_TRUE(fs::create_directory(directory.path() / "belay-io-n1-12.0"));
    EXPECT_THAT(SharedTrace::join(directory.path(), "belay-io-n1-12.0").error().message(),
                HasSubstr("is not a file of yours"));
    fs::remove(directory.path() / "belay-io-n1-12.0");
    fs::create_symlink("elsewhere", directory.path() / "belay-io-n1-12.0");
    EXPECT_FALSE(SharedTrace::join(directory.path(), "belay-io-n1-12.0"));
    EXPECT_FALSE(fs::exists(directory.path() / "elsewhere"));
    if (geteuid() != 0) return;
    fs::remove(directory.path() / "belay-io-n1-12.0");
    ASSERT_TRUE(IoTraceReader::create(directory.path() / "belay-io-n1-12.0"));
    ASSERT_EQ(chown((directory.path() / "belay-io-n1-12.0").c_str(), 12345, 12345), 0);
    EXPECT_THAT(SharedTrace::join(directory.path(), "belay-io-n1-12.0").error().message(),
                HasSubstr("is not a file of yours"));
}

TEST_F(iotrace_shared, many_that_come_and_go_at_once_find_a_whole_one_each_and_leave_nothing) {
    std::vector<core::Process> children;
    for (int i = 0; i < 8; ++i)
        children.push_back(core::fork_process({}, [&] {
                               for (int round = 0; round < 50; ++round) {
                                   const auto held = SharedTrace::join(directory.path(), "belay-io-n1-12.0");
                                   if (!held) return 1;
                                   if (!IoTraceReader::open(held->path())) return 2;
                               }
                               return 0;
                           }).value());
    for (core::Process& child : children) EXPECT_TRUE(child.wait().value().success());
    EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace belay::iotrace
