// What uploads say of jobs, and what the intake says to those who follow them.
#include "core/file.h"
#include "schema/tables/allocation.h"
#include "server/blocks/intake.h"
#include "server/blocks/testing.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using schema::kAllocation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::Time second(int64_t seconds) {
    return kBegan + std::chrono::seconds(seconds);
}

struct GivenShare {
    int64_t job = 7;
    std::string step = {};
    int64_t t0 = 0;
    std::optional<int64_t> t1 = {};
    std::string device = {};
};

// As an agent writes it at that second.
stream::Batch share_row(int64_t told, const GivenShare& share) {
    stream::Batch rows(kAllocation);
    rows.add_row(second(told), "n1");
    rows.set(column(kAllocation, "job_id"), share.job);
    if (!share.step.empty()) rows.set(column(kAllocation, "step_id"), share.step);
    rows.set(column(kAllocation, "restart"), 2);
    if (!share.device.empty()) rows.set(column(kAllocation, "device"), share.device);
    rows.set(column(kAllocation, "t0"), second(share.t0));
    if (share.t1) rows.set(column(kAllocation, "t1"), second(*share.t1));
    return rows;
}

// A block for each batch, from number `first` on.
std::string piece_with(uint64_t first, const std::vector<stream::Batch>& batches) {
    std::string bytes = stream::encode_head(session_of());
    for (const stream::Batch& batch : batches)
        for (const stream::RowsPayload& part : stream::encode_rows(batch))
            bytes += stream::encode_rows_block(part, static_cast<uint32_t>(first++));
    return bytes;
}

std::vector<int64_t> jobs_in(const std::vector<StatedShare>& shares) {
    std::vector<int64_t> jobs;
    for (const StatedShare& share : shares) jobs.push_back(share.job_id);
    return jobs;
}

TEST(server_blocks, an_upload_says_which_steps_were_where) {
    const std::string piece =
        piece_with(3, {share_row(10, {.job = 7, .t0 = 5}), row_of(1),
                       share_row(11, {.job = 8, .step = "0", .t0 = 6, .t1 = 9}),
                       share_row(12, {.job = 8, .step = "0", .t0 = 6, .device = "GPU-1"})});
    const auto upload = read_upload(piece);
    ASSERT_TRUE(upload) << upload.error().message();
    ASSERT_THAT(upload->shares, SizeIs(2)) << "a device says no more than its node";
    const StatedShare& batch = upload->shares[0];
    EXPECT_EQ(batch.block, 3U);
    EXPECT_EQ(batch.told, second(10));
    EXPECT_EQ(batch.job_id, 7);
    EXPECT_EQ(batch.step_id, "");
    EXPECT_EQ(batch.restart, 2);
    EXPECT_EQ(batch.t0, second(5));
    EXPECT_EQ(batch.t1, std::nullopt);
    const StatedShare& step = upload->shares[1];
    EXPECT_EQ(step.block, 5U);
    EXPECT_EQ(step.step_id, "0");
    EXPECT_EQ(step.t1, second(9));
}

TEST(server_blocks, shares_that_cannot_be_are_passed_over) {
    stream::Batch nothing(kAllocation);
    nothing.add_row(second(1), "n1");
    const auto upload = read_upload(piece_with(
        1, {nothing, share_row(1, {.job = 0}), share_row(2, {.job = -4}), share_row(3, {.t0 = 9, .t1 = 8}),
            share_row(4, {.job = 9, .step = std::string(1000, '1'), .t0 = 1})}));
    ASSERT_TRUE(upload) << upload.error().message();
    ASSERT_THAT(jobs_in(upload->shares), ElementsAre(9));
    EXPECT_EQ(upload->shares[0].step_id.size(), 64U);
}

TEST(server_blocks, an_upload_that_states_steps_without_end_is_refused) {
    stream::Batch many(kAllocation);
    for (size_t i = 0; i <= kMaxStatedShares; ++i) many.append(share_row(1, {.t0 = 1}));
    const auto refused = read_upload(piece_with(1, {many}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message(), HasSubstr("more than 100000 steps"));
}

class NewsLog {
  public:
    std::unique_ptr<Intake> open(const std::string& writer = "a") const {
        auto intake = Intake::open(place_.path() / "blocks", writer, {});
        if (!intake) ADD_FAILURE() << intake.error().message();
        return std::move(*intake);
    }
    std::filesystem::path path() const { return place_.path() / "blocks"; }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("news_test").value();
};

TEST(server_blocks, only_what_was_new_is_told) {
    const NewsLog log;
    const auto intake = log.open();
    const std::vector<stream::Batch> rows{share_row(10, {.job = 7, .t0 = 5}),
                                          share_row(20, {.job = 8, .t0 = 15}),
                                          share_row(30, {.job = 9, .t0 = 25})};
    const Accepted first = intake->accept(piece_with(1, {rows[0], rows[1]})).value();
    EXPECT_THAT(jobs_in(first.shares), ElementsAre(7, 8));
    EXPECT_EQ(first.first_time, second(10));
    EXPECT_EQ(first.last_time, second(20));
    EXPECT_THAT(first.new_runs, ElementsAre(BlockRun{1, 3}));
    const Accepted again = intake->accept(piece_with(1, rows)).value();
    EXPECT_THAT(jobs_in(again.shares), ElementsAre(9));
    EXPECT_EQ(again.first_time, second(30));
    EXPECT_THAT(again.new_runs, ElementsAre(BlockRun{3, 4}));
    const Accepted nothing = intake->accept(piece_with(2, {rows[1]})).value();
    EXPECT_THAT(nothing.shares, IsEmpty());
    EXPECT_EQ(nothing.last_time, std::nullopt);
    EXPECT_THAT(nothing.new_runs, IsEmpty());
    // What read_upload() made of it is taken as well.
    const std::string piece = piece_with(4, {share_row(40, {.job = 10, .t0 = 35})});
    EXPECT_THAT(jobs_in(intake->accept(read_upload(piece).value()).value().shares), ElementsAre(10));
}

TEST(server_blocks, what_was_stored_before_a_crash_is_read_again) {
    const NewsLog log;
    ASSERT_TRUE(log.open()->accept(piece_with(1, {share_row(10, {.job = 7, .t0 = 5})})));
    ASSERT_TRUE(log.open()->accept(piece_of(1, 3, "n2")));
    const auto intake = log.open();
    EXPECT_THAT(intake->nodes(), ElementsAre("n1", "n2"));
    std::vector<int64_t> jobs;
    const TimeRange recent{second(0), second(100)};
    for (const std::string& node : intake->nodes())
        for (const stream::StreamId& stream : intake->streams_of(node, recent))
            ASSERT_TRUE(intake->read(stream, recent, [&](std::string_view piece) -> core::Result<> {
                BELAY_TRY(upload, read_upload(piece));
                for (int64_t job : jobs_in(upload.shares)) jobs.push_back(job);
                return {};
            }));
    EXPECT_THAT(jobs, ElementsAre(7));
}

std::vector<BlockRun> missing(const Intake& intake, int64_t from, int64_t to) {
    return intake.missing(session_of().stream(), {second(from), second(to)});
}

// Block i has a row of second i.
TEST(server_blocks, missing_blocks_are_told_of_the_time_in_which_they_may_be) {
    const NewsLog log;
    auto intake = log.open();
    EXPECT_THAT(missing(*intake, 0, 100), IsEmpty());
    for (const auto& [from, to] : {std::pair(10U, 20U), {30U, 40U}, {50U, 60U}})
        ASSERT_TRUE(intake->accept(piece_of(from, to)));
    for (int round = 0; round < 2; ++round) {
        EXPECT_THAT(missing(*intake, 0, 100),
                    ElementsAre(BlockRun{1, 10}, BlockRun{20, 30}, BlockRun{40, 50}));
        EXPECT_THAT(missing(*intake, 12, 18), IsEmpty());
        EXPECT_THAT(missing(*intake, 0, 5), ElementsAre(BlockRun{1, 10})) << "since its beginning";
        EXPECT_THAT(missing(*intake, 15, 35), ElementsAre(BlockRun{20, 30}));
        EXPECT_THAT(missing(*intake, 35, 45), ElementsAre(BlockRun{40, 50}));
        EXPECT_THAT(missing(*intake, 61, 100), IsEmpty()) << "what comes next is not missing yet";
        intake.reset();
        intake = log.open();
    }
    ASSERT_TRUE(intake->accept(piece_of(20, 30)));
    EXPECT_THAT(missing(*intake, 15, 45), ElementsAre(BlockRun{40, 50}));
    // A later file knows what was stored, and has not got it.
    intake.reset();
    const auto files = core::files_with_suffix(log.path(), ".blk").value();
    intake = log.open();
    ASSERT_TRUE(intake->accept(piece_of(60, 70)));
    intake.reset();
    std::filesystem::remove(files.front());
    intake = log.open();
    EXPECT_THAT(missing(*intake, 0, 100), ElementsAre(BlockRun{1, 20}, BlockRun{30, 60}))
        << "what went with the first file";
    EXPECT_THAT(missing(*intake, 61, 100), IsEmpty());
}

}  // namespace
}  // namespace belay::server
