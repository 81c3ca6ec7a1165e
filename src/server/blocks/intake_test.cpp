#include "server/blocks/intake.h"

#include "core/file.h"
#include "server/blocks/testing.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder

class Blocks {
  public:
    explicit Blocks() { open(); }
    void open(const LogLimits& limits = {}) {
        intake.reset();
        auto opened = Intake::open(path(), "a", limits);
        if (!opened) ADD_FAILURE() << opened.error().message();
        intake = std::move(*opened);
    }
    fs::path path() const { return place_.path() / "blocks"; }
    Accepted accept(const std::string& piece) const {
        auto accepted = intake->accept(piece);
        if (!accepted) ADD_FAILURE() << accepted.error().message();
        return accepted.value_or(Accepted());
    }
    std::vector<uint64_t> numbers(const std::string& node = "n1", const TimeRange& range = {}) const {
        return numbers_in(*intake, node, range);
    }
    // The rows' numbers, in the order in which they are read.
    static std::vector<uint64_t> numbers_in(const Intake& intake, const std::string& node = "n1",
                                            const TimeRange& range = {}) {
        std::vector<uint64_t> numbers;
        for (const stream::StreamId& stream : intake.streams_of(node, range)) {
            const auto read = intake.read(stream, range, [&](std::string_view piece) {
                const auto summary =
                    stream::read_segment_bytes(piece, "piece", [&](const stream::Batch& batch) {
                        for (int64_t number : batch.values(column(schema::kEvent, "task")).integers)
                            numbers.push_back(static_cast<uint64_t>(number));
                    });
                EXPECT_TRUE(summary && summary->whole() && summary->session &&
                            summary->session->stream() == stream);
                return core::Result<>();
            });
            if (!read) ADD_FAILURE() << read.error().message();
        }
        return numbers;
    }

    std::unique_ptr<Intake> intake;

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("intake_test").value();
};

std::vector<uint64_t> from_to(uint64_t from, uint64_t to) {
    std::vector<uint64_t> numbers;
    for (uint64_t i = from; i < to; ++i) numbers.push_back(i);
    return numbers;
}

TEST(server_blocks, blocks_are_stored_once) {
    const Blocks blocks;
    const Accepted first = blocks.accept(piece_of(1, 5));
    EXPECT_EQ(first.next_block, 5U);
    EXPECT_EQ(first.new_blocks, 4U);
    const Accepted again = blocks.accept(piece_of(1, 5));
    EXPECT_EQ(again.new_blocks, 0U);
    EXPECT_EQ(again.known_blocks, 4U);
    EXPECT_EQ(again.next_block, 5U);
    const Accepted more = blocks.accept(piece_of(3, 8));
    EXPECT_EQ(more.new_blocks, 3U);
    EXPECT_EQ(blocks.numbers(), from_to(1, 8));
}

TEST(server_blocks, blocks_out_of_order_fill_the_gap_that_they_left) {
    const Blocks blocks;
    blocks.accept(piece_of(1, 3));
    EXPECT_THAT(blocks.accept(piece_of(6, 8)).gaps, ElementsAre(BlockRun{3, 6}));
    EXPECT_THAT(blocks.accept(piece_of(4, 5)).gaps, ElementsAre(BlockRun{3, 4}, BlockRun{5, 6}));
    EXPECT_THAT(blocks.accept(piece_of(2, 7)).gaps, IsEmpty());
    EXPECT_EQ(blocks.numbers(), from_to(1, 8));
}

TEST(server_blocks, a_stream_goes_on_in_the_agents_next_file) {
    const Blocks blocks;
    blocks.accept(piece_of(1, 4));
    const Accepted next = blocks.accept(piece_of(5, 7, "n1", 4));
    EXPECT_EQ(next.next_block, 7U);
    EXPECT_THAT(next.gaps, IsEmpty()) << "number 4 is the session of the second file";
    EXPECT_EQ(blocks.numbers(), (std::vector<uint64_t>{1, 2, 3, 5, 6}));
}

TEST(server_blocks, what_was_stored_is_there_after_a_restart) {
    Blocks blocks;
    blocks.accept(piece_of(1, 3));
    blocks.accept(piece_of(5, 6));
    blocks.accept(piece_of(1, 4, "n2"));
    for (int i = 0; i < 3; ++i) {
        blocks.open();
        EXPECT_EQ(blocks.numbers(), (std::vector<uint64_t>{1, 2, 5}));
        EXPECT_EQ(blocks.numbers("n2"), from_to(1, 4));
        EXPECT_EQ(to_text(blocks.intake->received(session_of().stream())), "0-3,5-6");
        EXPECT_EQ(blocks.accept(piece_of(1, 3)).new_blocks, 0U);
    }
    EXPECT_THAT(blocks.intake->lost(), IsEmpty());
}

TEST(server_blocks, what_is_stored_stays_known_when_older_files_are_gone) {
    Blocks blocks;
    blocks.accept(piece_of(1, 9));
    blocks.open();
    blocks.accept(piece_of(1, 2, "n2"));  // begins a file
    const auto files = core::files_with_suffix(blocks.path(), ".blk").value();
    ASSERT_THAT(files, SizeIs(2));
    fs::remove(files[0]);
    blocks.open();
    EXPECT_EQ(blocks.accept(piece_of(1, 9)).new_blocks, 0U);
}

TEST(server_blocks, rows_are_found_by_node_and_time) {
    const Blocks blocks;
    for (uint64_t i = 1; i < 60; i += 5) blocks.accept(piece_of(i, i + 5));
    blocks.accept(piece_of(1, 5, "n2"));
    const TimeRange range{kBegan + std::chrono::seconds(20), kBegan + std::chrono::seconds(30)};
    EXPECT_EQ(blocks.numbers("n1", range), from_to(16, 31)) << "whole uploads";
    EXPECT_THAT(blocks.numbers("n2", range), IsEmpty());
    EXPECT_THAT(blocks.numbers("n3"), IsEmpty());
    EXPECT_THAT(blocks.intake->streams_of("n2", range), IsEmpty());
}

TEST(server_blocks, a_copy_of_a_node_is_told_from_it) {
    const Blocks blocks;
    blocks.accept(piece_of(1, 5));
    // The same stream, whose third block has another row.
    std::string other = stream::encode_head(session_of());
    for (const stream::RowsPayload& part : stream::encode_rows(row_of(99)))
        other += stream::encode_rows_block(part, 3);
    const auto refused = blocks.intake->accept(other);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), core::Cause::kDenied);
    EXPECT_THAT(refused.error().message(), HasSubstr("block 3"));
    EXPECT_EQ(blocks.numbers(), from_to(1, 5));
}

TEST(server_blocks, a_damaged_upload_stores_nothing) {
    const Blocks blocks;
    std::string piece = piece_of(1, 5);
    piece[piece.size() - 3] ^= 1;
    const auto refused = blocks.intake->accept(piece);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(blocks.numbers(), IsEmpty());
    EXPECT_EQ(blocks.accept(piece_of(1, 5)).new_blocks, 4U);
}

TEST(server_blocks, two_belayd_share_a_directory) {
    Blocks blocks;
    const auto other = Intake::open(blocks.path(), "b", {}).value();
    blocks.accept(piece_of(1, 4));
    EXPECT_EQ(other->accept(piece_of(2, 6))->new_blocks, 2U)
        << "it looks at what the first has stored of a stream that it does not know";
    EXPECT_EQ(blocks.accept(piece_of(4, 9)).new_blocks, 5U)
        << "stored twice, since the first has not looked again";
    ASSERT_TRUE(blocks.intake->look());
    EXPECT_EQ(blocks.numbers(), from_to(1, 9)) << "and read once";
    ASSERT_TRUE(other->look());
    EXPECT_EQ(Blocks::numbers_in(*other), from_to(1, 9));
}

TEST(server_blocks, a_look_at_what_others_wrote_leaves_out_what_is_known) {
    Blocks blocks;
    blocks.open({.file_bytes = 1000});
    for (uint64_t i = 1; i < 9; ++i) blocks.accept(piece_of(i, i + 1));
    ASSERT_THAT(core::files_with_suffix(blocks.path(), ".blk").value(), SizeIs(::testing::Gt(4U)));
    EXPECT_EQ(blocks.intake->places(), 8U);
    ASSERT_TRUE(blocks.intake->look());
    EXPECT_EQ(blocks.intake->places(), 8U);
    blocks.open();
    EXPECT_EQ(blocks.intake->places(), 8U);
    EXPECT_EQ(blocks.numbers(), from_to(1, 9));
}

TEST(server_blocks, one_name_has_one_writer) {
    Blocks blocks;
    const auto second = Intake::open(blocks.path(), "a", {});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("another belayd of the name a"));
    blocks.open();
    EXPECT_TRUE(Intake::open(blocks.path(), "b", {}));
}

TEST(server_blocks, many_threads_upload_at_once) {
    const Blocks blocks;
    std::vector<std::thread> threads;
    std::atomic<uint64_t> fresh = 0;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            for (uint64_t j = 1; j < 40; ++j) {  // two threads of each node, which say the same
                const auto accepted = blocks.intake->accept(piece_of(j, j + 3, "n" + std::to_string(i / 2)));
                if (accepted) fresh += accepted->new_blocks;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fresh, 4U * 41);
    for (int node = 0; node < 4; ++node)
        EXPECT_EQ(blocks.numbers("n" + std::to_string(node)), from_to(1, 42));
}

// Uploads until it is killed; says after each block that it was acknowledged.
[[noreturn]] void upload_for_ever(const fs::path& path, int acknowledged) {
    auto intake = Intake::open(path, "a", {.file_bytes = 20'000});
    if (!intake) _exit(1);
    const Received before = (*intake)->received(session_of().stream());
    for (uint64_t next = std::max<uint64_t>(1, before.end());; ++next) {
        if (!(*intake)->accept(piece_of(next, next + 1))) _exit(2);
        if (write(acknowledged, &next, sizeof next) != sizeof next) _exit(3);
    }
}

TEST(server_blocks, what_was_acknowledged_survives_kills) {
    std::mt19937_64 random(3);
    Blocks blocks;
    blocks.intake.reset();
    uint64_t last = 0;
    for (int round = 0; round < 12; ++round) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) upload_for_ever(blocks.path(), pipe[1]);
        close(pipe[1]);
        for (uint64_t i = 1 + random() % 40; i > 0; --i)
            if (read(pipe[0], &last, sizeof last) != sizeof last) break;
        kill(child, SIGKILL);
        for (uint64_t number = 0; read(pipe[0], &number, sizeof number) == sizeof number;) last = number;
        close(pipe[0]);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
        blocks.open();
        const std::vector<uint64_t> numbers = blocks.numbers();
        ASSERT_GE(numbers.size(), last);
        ASSERT_EQ(numbers, from_to(1, numbers.size() + 1));
        blocks.intake.reset();
    }
    EXPECT_GE(last, 12U);
}

TEST(server_blocks, a_full_disk_refuses_and_loses_nothing) {
    Blocks blocks;
    blocks.accept(piece_of(1, 5));
    // A file may not grow further: as a full disk, but for its errno.
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto size = fs::file_size(core::files_with_suffix(blocks.path(), ".blk").value().at(0));
    rlimit limit = before;
    limit.rlim_cur = size + 100;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto refused = blocks.intake->accept(piece_of(5, 9));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(blocks.numbers(), from_to(1, 5));
    EXPECT_EQ(blocks.accept(piece_of(5, 9)).new_blocks, 4U);
    blocks.open();
    EXPECT_EQ(blocks.numbers(), from_to(1, 9));
    EXPECT_THAT(blocks.intake->lost(), IsEmpty());
}

TEST(server_blocks, damage_in_a_file_costs_what_it_hit) {
    Blocks blocks;
    for (uint64_t i = 1; i < 10; ++i) blocks.accept(piece_of(i, i + 1));
    const fs::path file = core::files_with_suffix(blocks.path(), ".blk").value().at(0);
    std::string bytes = core::read_file(file).value();
    bytes[bytes.size() - 200] ^= 0x55;  // in the last record but one
    std::ofstream(file) << bytes;
    blocks.open();
    const std::vector<uint64_t> numbers = blocks.numbers();
    EXPECT_EQ(numbers.size(), 8U);
    EXPECT_THAT(blocks.intake->lost(), SizeIs(1));
    EXPECT_EQ(blocks.accept(piece_of(1, 10)).new_blocks, 1U) << "the agent may send it again";
    EXPECT_EQ(blocks.numbers(), from_to(1, 10));
}

}  // namespace
}  // namespace belay::server
