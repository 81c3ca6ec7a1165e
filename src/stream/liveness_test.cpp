#include "stream/liveness.h"

#include "core/file.h"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace belay::stream {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'001);
const Session kSession{.node = "n1", .start = kStart, .interval = seconds(1), .flush = seconds(30)};

class SegmentFile {
  public:
    SegmentFile() : directory_(core::TemporaryDirectory::create("liveness_test").value()) {}
    fs::path path() const { return directory_.path() / "a.seg"; }
    SegmentSummary read() const {
        return read_segment(path(), [](const Batch&) {}).value();
    }
    // As if it had been written to for the last time so long ago.
    void age(seconds silence) const {
        fs::last_write_time(path(), fs::file_time_type::clock::now() - silence);
    }
    core::Descriptor open() const { return core::open_file(path(), O_RDONLY).value(); }
    SegmentLock lock() const { return segment_lock(open().get()); }
    bool is_written(SegmentLock lock, const char* node) const {
        return is_being_written(open().get(), lock, read(), node);
    }

  private:
    core::TemporaryDirectory directory_;
};

TEST(stream, an_open_segment_is_seen_as_being_written) {
    SegmentFile file;
    {
        auto writer = SegmentWriter::create(file.path(), kSession).value();
        EXPECT_EQ(file.lock(), SegmentLock::kHeld);
        file.age(seconds(3600));
        EXPECT_TRUE(file.is_written(file.lock(), "n1"));
    }
    EXPECT_EQ(file.lock(), SegmentLock::kFree);
    EXPECT_FALSE(file.is_written(file.lock(), "n1"));
    EXPECT_FALSE(SegmentWriter::create(file.path(), kSession)) << "an existing file is never reused";
}

TEST(stream, of_a_recorder_elsewhere_the_age_of_its_segment_tells) {
    SegmentFile file;
    ASSERT_TRUE(SegmentWriter::create(file.path(), kSession));  // and gone without an end
    EXPECT_FALSE(file.is_written(SegmentLock::kFree, "n1")) << "the lock of its own node tells";
    EXPECT_TRUE(file.is_written(SegmentLock::kFree, "login1"));
    EXPECT_TRUE(file.is_written(SegmentLock::kUnknown, "n1"));
    EXPECT_EQ(longest_silence(file.read()), seconds(91));
    file.age(seconds(85));
    EXPECT_TRUE(file.is_written(SegmentLock::kFree, "login1")) << "it may flush late";
    file.age(seconds(3600));
    EXPECT_FALSE(file.is_written(SegmentLock::kFree, "login1"));
    EXPECT_FALSE(file.is_written(SegmentLock::kUnknown, "n1"));
}

TEST(stream, a_segment_with_an_end_is_not_being_written) {
    SegmentFile file;
    ASSERT_TRUE(SegmentWriter::create(file.path(), kSession)->finish(kStart));
    EXPECT_FALSE(file.is_written(SegmentLock::kFree, "login1"));
    EXPECT_FALSE(file.is_written(SegmentLock::kUnknown, "n1"));
}

TEST(stream, a_segment_without_a_session_may_be_somebodys) {
    SegmentFile file;
    ASSERT_TRUE(core::create_file(file.path(), ""));
    EXPECT_TRUE(file.is_written(SegmentLock::kFree, "n1"));
    file.age(seconds(3600));
    EXPECT_FALSE(file.is_written(SegmentLock::kFree, "n1"));
}

}  // namespace
}  // namespace belay::stream
