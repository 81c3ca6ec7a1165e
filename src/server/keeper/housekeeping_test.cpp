#include "server/keeper/housekeeping.h"

#include "database/testing/fixture.h"
#include "server/blocks/testing.h"
#include "server/keeper/history_sources.h"
#include "server/state/job_store.h"
#include "server/state/schema.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace belay::server {
namespace {

using database::soon;
using testing::kBegan;
using testing::piece_of;

class HouseTest : public ::testing::Test {
  protected:
    // Uploads blocks of a stream, and lets the time pass after which its file is closed and packed.
    void upload_and_pack(uint64_t from, uint64_t to) {
        ASSERT_TRUE(intake_->accept(piece_of(from, to)));
        clock_.advance(std::chrono::hours(2));
        const auto done = house_.round();
        ASSERT_TRUE(done) << done.error().render();
    }
    size_t raw_files() const {
        return static_cast<size_t>(std::ranges::count_if(
            history_->catalog()->files, [](const PackedFile& file) { return file.tier == Tier::kRaw; }));
    }
    uint64_t rows() const {
        uint64_t rows = 0;
        const auto read = history_->read_rows(
            {.range = {}}, [&](const stream::Session&, const stream::Batch& batch) -> core::Result<> {
                rows += batch.rows();
                return {};
            });
        EXPECT_TRUE(read) << (read ? "" : read.error().render());
        return rows;
    }

    core::ManualClock clock_{kBegan + std::chrono::minutes(1)};
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    database::Database database_ =
        open_state("sqlite:" + (directory_.path() / "state.db").string(), soon()).value();
    std::unique_ptr<Intake> intake_ =
        Intake::open(directory_.path() / "blocks", "a", {.file_time = std::chrono::minutes(10)}, clock_)
            .value();
    std::unique_ptr<History> history_ =
        History::open(directory_.path() / "packed", *intake_, {}, clock_).value();
    Housekeeping house_{{.database = &database_, .history = history_.get(), .clock = &clock_}, {}};
};

TEST_F(HouseTest, closed_files_are_packed_and_what_is_too_old_goes) {
    upload_and_pack(1, 40);
    upload_and_pack(40, 60);
    EXPECT_GE(raw_files(), 1u);
    EXPECT_EQ(rows(), 59u);
    clock_.advance(std::chrono::hours(24 * 8));
    upload_and_pack(60, 70);
    const auto done = house_.round();
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_LT(rows(), 59u);
}

TEST_F(HouseTest, rows_of_a_job_without_a_record_are_held) {
    const Job job{.key = "c-1-0-1", .cluster = "c", .id = 1, .start = kBegan, .nodes = {"n1"}};
    ASSERT_TRUE(put_job(database_, job, clock_.now(), soon()));
    upload_and_pack(1, 40);
    upload_and_pack(40, 60);
    clock_.advance(std::chrono::hours(24 * 8));
    const auto held = house_.round();
    ASSERT_TRUE(held) << held.error().render();
    EXPECT_GT(held->held_files, 0u);
    EXPECT_EQ(rows(), 59u);
    ASSERT_TRUE(set_phase(database_, job.key, RecordPhase::kSealed, "", clock_.now(), soon()).value());
    Job over = job;
    over.is_over = true;
    ASSERT_TRUE(put_job(database_, over, clock_.now(), soon()));
    ASSERT_TRUE(house_.round());
    EXPECT_LT(rows(), 59u);
}

TEST_F(HouseTest, a_job_that_never_ends_does_not_keep_everything) {
    const Job job{.key = "c-1-0-1", .cluster = "c", .id = 1, .start = kBegan, .nodes = {"n1"}};
    ASSERT_TRUE(put_job(database_, job, clock_.now(), soon()));
    upload_and_pack(1, 40);
    upload_and_pack(40, 60);
    clock_.advance(std::chrono::hours(24 * 100));
    ASSERT_TRUE(house_.round());
    EXPECT_LT(rows(), 59u);
}

}  // namespace
}  // namespace belay::server
