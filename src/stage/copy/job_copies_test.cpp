#include "stage/copy/job_copies.h"

#include "core/file.h"
#include "stage/copy/copy.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;

class stage_job_copies : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(root / "source");
        fs::create_directories(root / "notes");
        ASSERT_TRUE(core::replace_file(root / "source/a", "content"));
    }
    fs::path copy(const std::string& name) {
        const fs::path destination = root / "nodes" / name;
        EXPECT_TRUE(copy_here(root / "source", destination, {}));
        return destination;
    }
    size_t notes() const { return static_cast<size_t>(std::distance(fs::directory_iterator(root / "notes"), fs::directory_iterator())); }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    fs::path root = directory.path();
};

TEST_F(stage_job_copies, those_of_a_job_on_a_node_go_and_others_stay) {
    const JobOnNode here{12, "n1"};
    const fs::path first = copy("first"), second = copy("second"), other_job = copy("other_job"), other_node = copy("other_node");
    ASSERT_TRUE(note_for_job(here, first, root / "notes"));
    ASSERT_TRUE(note_for_job(here, first, root / "notes")) << "again";
    ASSERT_TRUE(note_for_job(here, second, root / "notes"));
    ASSERT_TRUE(note_for_job({1, "n1"}, other_job, root / "notes"));
    ASSERT_TRUE(note_for_job({12, "n11"}, other_node, root / "notes"));
    EXPECT_EQ(notes(), 4U);
    const JobCleaning done = clean_for_job(here, root / "notes").value();
    EXPECT_EQ(done.cleaned.size(), 2U);
    EXPECT_TRUE(done.failed.empty());
    EXPECT_FALSE(fs::exists(first));
    EXPECT_FALSE(fs::exists(second));
    EXPECT_TRUE(fs::exists(other_job / "a"));
    EXPECT_TRUE(fs::exists(other_node / "a"));
    EXPECT_EQ(notes(), 2U);
}

TEST_F(stage_job_copies, what_has_gone_already_and_notes_of_others_are_passed_over) {
    const fs::path gone = copy("gone");
    ASSERT_TRUE(note_for_job({12, "n1"}, gone, root / "notes"));
    fs::remove_all(gone);
    fs::create_symlink(root / "source/a", root / "notes" / fmt::format("belay-staged-{}-n1-12-0", geteuid()));
    const JobCleaning done = clean_for_job({12, "n1"}, root / "notes").value();
    EXPECT_TRUE(done.cleaned.empty());
    EXPECT_TRUE(done.failed.empty());
    EXPECT_TRUE(fs::exists(root / "source/a"));
    EXPECT_EQ(note_for_job({12, "../n1"}, gone, root / "notes").error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::stage
