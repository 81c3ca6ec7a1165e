#include "stage/copy/job_copies.h"

#include "core/file.h"
#include "stage/copy/copy.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class stage_job_copies : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(root / "source");
        fs::create_directories(root / "notes");
        ASSERT_TRUE(core::replace_file(root / "source/a", "content"));
    }
    // As srun --stage does it.
    fs::path stage(const JobOnNode& where, const std::string& name, const std::string& from = "source") {
        const fs::path destination = root / name;
        const auto begun = [&](const CopyStore& store) { return note_for_job(where, store, root / "notes"); };
        const auto copied = copy_here(root / from, destination, {.begun = begun});
        EXPECT_TRUE(copied) << copied.error().message();
        return destination;
    }
    std::vector<fs::path> clean(const JobOnNode& where) {
        auto done = clean_for_job(where, root / "notes");
        EXPECT_TRUE(done);
        EXPECT_TRUE(done->failed.empty());
        return done->cleaned;
    }
    size_t notes() const {
        return static_cast<size_t>(std::count_if(
            fs::directory_iterator(root / "notes"), fs::directory_iterator(),
            [](const auto& entry) { return entry.path().filename().string().starts_with("belay-staged-"); }));
    }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    fs::path root = fs::canonical(directory.path());
    const JobOnNode first{12, "n1"}, second{13, "n1"};
};

TEST_F(stage_job_copies, those_of_a_job_on_a_node_go_and_others_stay) {
    const fs::path one = stage(first, "one"), two = stage(first, "two");
    stage(first, "one");
    const fs::path other_job = stage({1, "n1"}, "other_job"), other_node = stage({12, "n11"}, "other_node");
    EXPECT_EQ(notes(), 4U) << "each once";
    EXPECT_THAT(clean(first), testing::UnorderedElementsAre(one, two));
    EXPECT_FALSE(fs::exists(one));
    EXPECT_FALSE(fs::exists(two));
    EXPECT_TRUE(fs::exists(other_job / "a"));
    EXPECT_TRUE(fs::exists(other_node / "a"));
    EXPECT_EQ(notes(), 2U);
}

TEST_F(stage_job_copies, a_single_file_goes_as_well) {
    const fs::path renamed = stage(first, "renamed", "source/a");
    fs::create_directory(root / "into");
    stage(first, "into", "source/a");
    EXPECT_EQ(notes(), 2U);
    EXPECT_THAT(clean(first), testing::UnorderedElementsAre(renamed, root / "into/a"));
    EXPECT_FALSE(fs::exists(renamed));
    EXPECT_FALSE(fs::exists(root / "into/a"));
}

TEST_F(stage_job_copies, what_two_jobs_use_goes_with_the_last) {
    const fs::path shared = stage(first, "shared");
    stage(second, "shared");
    EXPECT_THAT(clean(first), IsEmpty());
    EXPECT_TRUE(fs::exists(shared / "a"));
    EXPECT_THAT(clean(second), ElementsAre(shared));
    EXPECT_FALSE(fs::exists(shared));
    EXPECT_EQ(notes(), 0U);
}

TEST_F(stage_job_copies, what_lay_there_before_is_not_the_jobs) {
    ASSERT_TRUE(copy_here(root / "source", root / "mine", {}));
    stage(first, "mine");
    EXPECT_EQ(notes(), 0U);
    ASSERT_TRUE(core::replace_file(root / "source/a", "another content"));
    const auto begun = [&](const CopyStore& store) { return note_for_job(first, store, root / "notes"); };
    EXPECT_FALSE(copy_here(root / "source", root / "mine", {.begun = begun}));
    EXPECT_THAT(clean(first), IsEmpty());
    EXPECT_TRUE(fs::exists(root / "mine/a"));
}

TEST_F(stage_job_copies, what_has_gone_already_and_notes_of_others_are_passed_over) {
    fs::remove_all(stage(first, "gone"));
    const fs::path kept = stage(second, "kept");
    // As another user would try it: a name of this job's that leads to the note of another.
    fs::path note;
    for (const auto& entry : fs::directory_iterator(root / "notes"))
        if (entry.path().filename().string().contains("-13-")) note = entry.path();
    fs::rename(note, root / "note");
    fs::create_symlink(root / "note", root / "notes" / fmt::format("belay-staged-{}-n1-12-0", geteuid()));
    ASSERT_TRUE(core::replace_file(root / "notes" / fmt::format("belay-staged-{}-n1-12-1", geteuid()),
                                   "belay copy 1\ndirectory\n"));
    EXPECT_THAT(clean(first), ElementsAre(root / "gone"));
    EXPECT_TRUE(fs::exists(kept / "a"));
}

TEST_F(stage_job_copies, what_cannot_be_removed_is_told_and_stays_noted) {
    const fs::path damaged = stage(first, "damaged");
    ASSERT_TRUE(core::replace_file(damaged / ".belay-copy", "no plan"));
    const auto done = clean_for_job(first, root / "notes").value();
    EXPECT_EQ(done.failed.size(), 1U);
    EXPECT_EQ(notes(), 1U);
    EXPECT_TRUE(fs::exists(damaged / "a"));
}

// The first job ends while the second still copies or looks at what is there.
TEST_F(stage_job_copies, what_one_job_could_not_remove_goes_with_the_next) {
    const fs::path shared = stage(first, "shared");
    const std::string plan = core::read_file(shared / ".belay-copy").value();
    ASSERT_TRUE(core::replace_file(shared / ".belay-copy", "no plan"));
    EXPECT_EQ(clean_for_job(first, root / "notes")->failed.size(), 1U);
    ASSERT_TRUE(core::replace_file(shared / ".belay-copy", plan));
    stage(second, "shared");
    EXPECT_EQ(notes(), 2U);
    EXPECT_THAT(clean(second), ElementsAre(shared));
    EXPECT_FALSE(fs::exists(shared));
    EXPECT_EQ(notes(), 0U);
}

TEST_F(stage_job_copies, a_job_that_comes_while_another_cleans_keeps_its_data) {
    const fs::path shared = stage(first, "shared");
    const auto cleaned = clean_copy(shared, {}, [&] {
        EXPECT_FALSE(copy_here(root / "source", shared, {})) << "no copy begins meanwhile";
        return true;
    });
    ASSERT_TRUE(cleaned);
    EXPECT_EQ(cleaned->files, 0U);
    EXPECT_TRUE(fs::exists(shared / "a"));
    EXPECT_EQ(std::distance(fs::directory_iterator(shared), fs::directory_iterator()), 2)
        << "the file and its plan";
}

// As where each job has a /tmp of its own, and its end is cleaned outside of it.
TEST_F(stage_job_copies, another_directory_of_the_same_name_stays) {
    const fs::path place = stage(first, "place");
    fs::rename(place, root / "moved");
    ASSERT_TRUE(copy_here(root / "source", place, {}));
    clean(first);
    EXPECT_TRUE(fs::exists(place / "a"));
    EXPECT_TRUE(fs::exists(root / "moved/a"));
    EXPECT_EQ(notes(), 0U);
    stage(second, "place");
    EXPECT_EQ(notes(), 0U) << "it lay there before";
}

TEST_F(stage_job_copies, another_file_of_the_same_name_stays) {
    const fs::path place = stage(first, "place", "source/a");
    fs::remove(place);
    fs::copy_file(root / "source/a", place);
    fs::last_write_time(place, fs::last_write_time(root / "source/a"));
    clean(first);
    EXPECT_TRUE(fs::exists(place));
}

// Its copy was refused; then somebody else put the same there.
TEST_F(stage_job_copies, what_a_job_did_not_bring_stays) {
    const auto begun = [&](const CopyStore& store) -> core::Result<> {
        BELAY_CHECK(note_for_job(first, store, root / "notes"));
        return core::system_error("no");
    };
    for (const char* from : {"source", "source/a"}) {
        const fs::path place = root / "place";
        EXPECT_FALSE(copy_here(root / from, place, {.begun = begun}));
        fs::copy(root / from, place, fs::copy_options::recursive);
        const fs::path file = fs::is_directory(place) ? place / "a" : place;
        fs::last_write_time(file, fs::last_write_time(root / "source/a"));
        clean(first);
        EXPECT_TRUE(fs::exists(file));
        fs::remove_all(place);
    }
}

TEST_F(stage_job_copies, what_a_copy_by_hand_brought_to_the_same_place_stays) {
    fs::create_directory(root / "other");
    ASSERT_TRUE(core::replace_file(root / "other/b", "by hand"));
    const fs::path place = stage(first, "place");
    ASSERT_TRUE(copy_here(root / "other", place, {}));
    EXPECT_THAT(clean(first), ElementsAre(place));
    EXPECT_FALSE(fs::exists(place / "a"));
    EXPECT_TRUE(fs::exists(place / "b"));
    EXPECT_TRUE(clean_copy(place));
    EXPECT_FALSE(fs::exists(place));
}

// The source has grown in between.
TEST_F(stage_job_copies, what_two_jobs_brought_to_one_place_goes_with_the_last) {
    const fs::path shared = stage(first, "shared");
    ASSERT_TRUE(core::replace_file(root / "source/b", "more"));
    stage(second, "shared");
    EXPECT_THAT(clean(first), IsEmpty());
    EXPECT_TRUE(fs::exists(shared / "a"));
    EXPECT_THAT(clean(second), ElementsAre(shared));
    EXPECT_FALSE(fs::exists(shared));
    EXPECT_EQ(notes(), 0U);
}

TEST_F(stage_job_copies, what_two_jobs_use_by_two_names_goes_with_the_last) {
    const fs::path shared = stage(first, "shared");
    fs::create_directory_symlink(shared, root / "link");
    stage(second, "link");
    EXPECT_EQ(notes(), 2U);
    EXPECT_THAT(clean(first), IsEmpty());
    EXPECT_TRUE(fs::exists(shared / "a"));
    clean(second);
    EXPECT_FALSE(fs::exists(shared / "a"));
    EXPECT_EQ(notes(), 0U);
}

TEST_F(stage_job_copies, a_name_that_is_none_is_refused) {
    const auto begun = [&](const CopyStore& store) {
        return note_for_job({12, "../n1"}, store, root / "notes");
    };
    EXPECT_EQ(copy_here(root / "source", root / "x", {.begun = begun}).error().kind(),
              core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::stage
