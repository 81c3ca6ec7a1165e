#include "server/blocks/block_tail.h"

#include "core/file.h"
#include "server/blocks/testing.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kBegan;
using testing::piece_of;

class TailTest : public ::testing::Test {
  protected:
    std::unique_ptr<Intake> open(const std::string& writer) const {
        return Intake::open(directory_.path() / "blocks", writer, {}).value();
    }
    // Numbers of the blocks that a look gives.
    static std::vector<uint64_t> given(BlockTail& tail, const TimeRange& range = {}) {
        std::vector<uint64_t> numbers;
        const auto done =
            tail.read("n1", range, [&](const stream::StreamId&, std::string_view piece) -> core::Result<> {
                BELAY_TRY(upload, read_upload(piece));
                for (const UploadedBlock& block : upload.blocks) numbers.push_back(block.number);
                return {};
            });
        EXPECT_TRUE(done) << (done ? "" : done.error().render());
        return numbers;
    }

    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST_F(TailTest, each_block_is_given_once) {
    const auto intake = open("a");
    BlockTail tail(*intake);
    ASSERT_TRUE(intake->accept(piece_of(1, 3)));
    EXPECT_THAT(given(tail), ElementsAre(1, 2));
    EXPECT_THAT(given(tail), IsEmpty());
    ASSERT_TRUE(intake->accept(piece_of(5, 6)));
    EXPECT_THAT(given(tail), ElementsAre(5));
    ASSERT_TRUE(intake->accept(piece_of(3, 5)));  // late
    EXPECT_THAT(given(tail), ElementsAre(3, 4));
}

TEST_F(TailTest, blocks_outside_of_the_range_are_left_out) {
    const auto intake = open("a");
    BlockTail tail(*intake);
    ASSERT_TRUE(intake->accept(piece_of(1, 3)));
    EXPECT_THAT(given(tail, {.begin = kBegan + std::chrono::seconds(60)}), IsEmpty());
    ASSERT_TRUE(intake->accept(piece_of(61, 62)));
    EXPECT_THAT(given(tail, {.begin = kBegan + std::chrono::seconds(60)}), ElementsAre(61));
}

TEST_F(TailTest, what_failed_is_given_again) {
    const auto intake = open("a");
    BlockTail tail(*intake);
    ASSERT_TRUE(intake->accept(piece_of(1, 3)));
    EXPECT_FALSE(tail.read("n1", {}, [](const stream::StreamId&, std::string_view) -> core::Result<> {
        return core::system_error("no");
    }));
    EXPECT_THAT(given(tail), ElementsAre(1, 2));
}

TEST_F(TailTest, of_others_alone_where_that_is_wanted) {
    const auto ours = open("a"), theirs = open("b");
    BlockTail tail(*ours, Writers::kOthers);
    ASSERT_TRUE(ours->accept(piece_of(1, 3)));
    ASSERT_TRUE(theirs->accept(piece_of(3, 5)));
    EXPECT_THAT(given(tail), IsEmpty());
    ASSERT_TRUE(ours->look());
    EXPECT_THAT(given(tail), ElementsAre(3, 4));
    EXPECT_THAT(given(tail), IsEmpty());
}

}  // namespace
}  // namespace belay::server
