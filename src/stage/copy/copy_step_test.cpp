// A copy to the nodes of a step.
#include "stage/copy/copy_testing.h"

namespace belay::stage {
namespace {

using copy_testing::CopyCase;
using testing::HasSubstr;

void expect_whole(const CopyCase& data, const std::vector<core::Result<CopyReport>>& reports) {
    const auto wanted = data.wanted();
    for (uint32_t rank = 0; rank < reports.size(); ++rank) {
        ASSERT_TRUE(reports[rank]) << rank << ": " << reports[rank].error().message();
        EXPECT_TRUE(reports[rank]->is_whole()) << rank;
        EXPECT_EQ(data.copied(rank), wanted) << rank;
    }
}

class InATree : public testing::TestWithParam<uint32_t> {};

TEST_P(InATree, eight_nodes_get_the_same_bytes_and_the_source_is_read_once) {
    CopyCase data(8);
    data.some_files();
    std::atomic<uint64_t> read = 0;
    data.options.children = GetParam();
    data.options.reader = copy_testing::counting(read);
    const auto reports = data.in_threads();
    expect_whole(data, reports);
    EXPECT_EQ(read, data.source_bytes());
    ASSERT_EQ(reports[0]->nodes.size(), 8U);
    for (uint32_t rank = 0; rank < 8; ++rank) {
        EXPECT_EQ(reports[0]->nodes[rank].name, fmt::format("n{}", rank));
        EXPECT_EQ(reports[0]->nodes[rank].figures.received_bytes, data.source_bytes()) << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(stage_copy, InATree, testing::Values(1U, 2U),
                         [](const auto& info) { return fmt::format("with_{}_children", info.param); });

TEST(stage_copy_step, the_progress_of_all_nodes_is_shown_by_the_first) {
    CopyCase data(3);
    data.some_files();
    uint64_t last = 0, total = 0;
    const auto reports = data.in_threads([&](uint32_t rank, CopyOptions& options) {
        if (rank == 0)
            options.progress = [&](uint64_t done, uint64_t all) {
                EXPECT_LE(done, all);
                last = done;
                total = all;
            };
    });
    expect_whole(data, reports);
    EXPECT_EQ(last, 3 * data.source_bytes());
    EXPECT_EQ(total, 3 * data.source_bytes());
}

TEST(stage_copy_step, what_nodes_have_already_is_not_sent_again) {
    CopyCase data(3);
    data.some_files();
    expect_whole(data, data.in_threads());
    std::filesystem::remove_all(data.destination(2));
    std::atomic<uint64_t> read = 0;
    data.options.reader = copy_testing::counting(read);
    const auto reports = data.in_threads();
    expect_whole(data, reports);
    EXPECT_EQ(read, 0U) << "rank 0 has it";
    EXPECT_EQ(reports[0]->nodes[1].figures.received_bytes, 0U);
    EXPECT_EQ(reports[0]->nodes[2].figures.received_bytes, data.source_bytes());
}

TEST(stage_copy_step, a_flipped_bit_on_the_way_is_noticed_and_the_chunk_sent_again) {
    CopyCase data(3);
    data.some_files();
    std::map<uint64_t, int> sent;  // by the one thread that serves n1
    const auto reports = data.in_threads([&](uint32_t rank, CopyOptions& options) {
        if (rank == 0)
            options.faults.sending = [&](uint64_t chunk, char* content, size_t bytes) {
                if (chunk % 10 == 3 && ++sent[chunk] <= kMostRefetches)
                    content[bytes / 2] = static_cast<char>(content[bytes / 2] ^ 4);
            };
    });
    expect_whole(data, reports);
    EXPECT_EQ(reports[0]->nodes[1].figures.refetched, kMostRefetches * sent.size());
    EXPECT_EQ(reports[0]->nodes[2].figures.refetched, 0U) << "what is damaged is not handed on";
}

TEST(stage_copy_step, a_node_to_which_a_chunk_always_comes_damaged_gives_up) {
    CopyCase data(2);
    data.some_files();
    const auto reports = data.in_threads([&](uint32_t rank, CopyOptions& options) {
        if (rank == 0)
            options.faults.sending = [](uint64_t chunk, char* content, size_t) {
                if (chunk == 3) content[0] = static_cast<char>(content[0] ^ 1);
            };
    });
    ASSERT_TRUE(reports[0]) << reports[0].error().message();
    EXPECT_FALSE(reports[0]->is_whole());
    ASSERT_TRUE(reports[0]->nodes[1].failure);
    EXPECT_THAT(reports[0]->nodes[1].failure->message(), HasSubstr("chunk 3 came damaged 4 times"));
    ASSERT_FALSE(reports[1]);
    EXPECT_TRUE(data.copied(1).empty()) << "nothing appears";
    EXPECT_EQ(data.copied(0), data.wanted());
}

TEST(stage_copy_step, who_does_not_know_the_secret_gets_nothing) {
    CopyCase data(2);
    data.some_files();
    std::vector<core::Result<CopyReport>> reports(2, CopyReport{});
    {
        std::jthread root([&] {
            CopyOptions options = data.options;
            options.patience.join = std::chrono::seconds(2);
            reports[0] = data.node(0, options);
        });
        std::jthread stranger([&] {
            CopyStep step = data.step(1);
            step.secret = "guessed";
            CopyOptions options = data.options;
            options.patience.join = std::chrono::seconds(2);
            reports[1] = copy_in_step(data.source(), data.destination(1), step, options);
        });
    }
    ASSERT_FALSE(reports[1]);
    EXPECT_EQ(reports[1].error().cause(), core::Cause::kDenied) << reports[1].error().message();
    EXPECT_TRUE(data.copied(1).empty());
    ASSERT_TRUE(reports[0]) << "rank 0 goes on without it";
    ASSERT_TRUE(reports[0]->nodes[1].failure);
    EXPECT_EQ(data.copied(0), data.wanted());
}

TEST(stage_copy_step, nodes_that_share_a_directory_are_told_so) {
    CopyCase data(2);
    data.some_files();
    std::vector<core::Result<CopyReport>> reports(2, CopyReport{});
    std::atomic<bool> has_member_ended = false;
    {
        std::jthread root([&] {
            CopyOptions options = data.options;
            options.faults.stored = [&](uint64_t) {
                const auto deadline = core::Deadline::after(std::chrono::seconds(20));
                while (!has_member_ended && !deadline.is_over())
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
            };
            reports[0] = copy_in_step(data.source(), data.destination(0), data.step(0), options);
        });
        std::jthread member([&] {
            reports[1] = copy_in_step(data.source(), data.destination(0), data.step(1), data.options);
            has_member_ended = true;
        });
    }
    ASSERT_FALSE(reports[1]);
    EXPECT_THAT(reports[1].error().hint_text(), HasSubstr("each node has for itself"));
    ASSERT_TRUE(reports[0]) << reports[0].error().message();
    EXPECT_TRUE(reports[0]->nodes[1].failure);
    EXPECT_EQ(data.copied(0), data.wanted());
}

TEST(stage_copy_step, what_fails_on_the_first_node_ends_the_others) {
    CopyCase data(3);
    data.some_files();
    const auto reports = data.in_threads([&](uint32_t rank, CopyOptions& options) {
        options.readers = 1;
        if (rank == 0)
            options.faults.stored = [&](uint64_t held) {
                if (held == 10) data.file("large.bin", "another");
            };
    });
    ASSERT_FALSE(reports[0]);
    EXPECT_EQ(reports[0].error().kind(), core::ErrorKind::kBadInput);
    for (uint32_t rank : {1U, 2U}) {
        ASSERT_FALSE(reports[rank]);
        EXPECT_EQ(reports[rank].error().cause(), core::Cause::kCancelled);
        EXPECT_TRUE(data.copied(rank).empty());
    }
}

TEST(stage_copy_step, nodes_that_come_after_the_first_has_failed_are_told_so) {
    CopyCase data(3);
    std::filesystem::remove_all(data.source());
    const auto reports = data.in_threads();
    ASSERT_FALSE(reports[0]);
    EXPECT_EQ(reports[0].error().cause(), core::Cause::kNotFound);
    for (uint32_t rank : {1U, 2U}) {
        ASSERT_FALSE(reports[rank]);
        EXPECT_EQ(reports[rank].error().cause(), core::Cause::kCancelled) << reports[rank].error().message();
    }
}

TEST(stage_copy_step, a_node_whose_place_holds_something_else_is_told_of_and_the_others_get_it) {
    CopyCase data(4);
    data.some_files();
    std::filesystem::create_directories(data.destination(1));
    std::ofstream(data.destination(1) / "large.bin") << "mine";
    const auto reports = data.in_threads();
    ASSERT_TRUE(reports[0]);
    ASSERT_TRUE(reports[0]->nodes[1].failure);
    EXPECT_THAT(reports[0]->nodes[1].failure->message(), HasSubstr("is there already"));
    EXPECT_EQ(data.copied(1), (std::map<std::string, std::string>{{"large.bin", "mine"}}));
    for (uint32_t rank : {2U, 3U}) EXPECT_EQ(data.copied(rank), data.wanted()) << rank;
}

// A node that is killed, in a chain and in a tree: its children go to its parent.
class NodeIsKilled : public testing::TestWithParam<uint32_t> {};

TEST_P(NodeIsKilled, and_the_others_get_the_copy) {
    CopyCase data(6);
    data.some_files();
    std::atomic<uint64_t> read = 0;
    data.options.children = GetParam();
    data.options.reader = copy_testing::counting(read);
    const auto report = data.in_processes([&](uint32_t rank, CopyOptions& options) {
        if (rank == 1 || rank == 4) options.faults.stored = CopyCase::die_at(7, data.destination(rank));
    });
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_FALSE(report->is_whole());
    EXPECT_EQ(read, data.source_bytes());
    for (uint32_t rank = 0; rank < 6; ++rank) {
        const bool is_dead = rank == 1 || rank == 4;
        EXPECT_EQ(report->nodes[rank].failure.has_value(), is_dead) << rank;
        EXPECT_EQ(data.copied(rank), is_dead ? decltype(data.wanted())() : data.wanted())
            << rank << ": " << (rank == 0 ? "" : data.told(rank));
    }
}

INSTANTIATE_TEST_SUITE_P(stage_copy, NodeIsKilled, testing::Values(1U, 2U),
                         [](const auto& info) { return fmt::format("with_{}_children", info.param); });

TEST(stage_copy_step, a_killed_node_goes_on_where_it_was) {
    CopyCase data(3);
    data.some_files();
    auto report = data.in_processes([&](uint32_t rank, CopyOptions& options) {
        if (rank == 2) options.faults.stored = CopyCase::die_at(30, data.destination(rank));
    });
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->nodes[2].failure);
    report = data.in_processes();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->is_whole());
    const CopyFigures& figures = report->nodes[2].figures;
    EXPECT_GT(figures.resumed_chunks, 0U);
    EXPECT_EQ(figures.received_bytes, data.source_bytes() - figures.resumed_chunks * CopyCase::kChunk);
    EXPECT_EQ(data.copied(2), data.wanted());
}

TEST(stage_copy_step, a_node_that_stands_still_is_left_behind) {
    CopyCase data(4);
    data.some_files();
    data.options.patience.silence = std::chrono::seconds(2);
    data.stopped_rank = 1;
    const auto report = data.in_processes([&](uint32_t rank, CopyOptions& options) {
        if (rank == 1)
            options.faults.stored = [](uint64_t held) {
                if (held == 5) kill(getpid(), SIGSTOP);
            };
    });
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_TRUE(report->nodes[1].failure);
    for (uint32_t rank : {0U, 2U, 3U}) {
        EXPECT_FALSE(report->nodes[rank].failure) << rank;
        EXPECT_EQ(data.copied(rank), data.wanted()) << rank << ": " << (rank == 0 ? "" : data.told(rank));
    }
}

TEST(stage_copy_step, a_node_that_never_comes_is_missed_and_not_waited_for_longer) {
    CopyCase data(3);
    data.some_files();
    data.options.patience.join = std::chrono::seconds(2);
    std::vector<core::Result<CopyReport>> reports(2, CopyReport{});
    {
        std::vector<std::jthread> threads;
        for (uint32_t rank : {0U, 1U})
            threads.emplace_back([&, rank] { reports[rank] = data.node(rank, data.options); });
    }
    ASSERT_TRUE(reports[0]) << reports[0].error().message();
    ASSERT_TRUE(reports[0]->nodes[2].failure);
    EXPECT_THAT(reports[0]->nodes[2].failure->message(), HasSubstr("did not come"));
    EXPECT_FALSE(reports[0]->nodes[1].failure);
    EXPECT_EQ(data.copied(1), data.wanted());
}

TEST(stage_copy_step, when_the_first_node_is_gone_the_others_end_and_say_so) {
    CopyCase data(2);
    data.some_files();
    auto root = core::Work::start({.what = "rank 0"}, [&]() -> core::Result<std::string> {
                    CopyOptions options = data.options;
                    options.readers = 1;
                    options.rate = 100'000;
                    options.faults.stored = [](uint64_t held) {
                        if (held == 8) kill(getpid(), SIGKILL);
                    };
                    BELAY_CHECK(data.node(0, options));
                    return "";
                }).value();
    const auto report = data.node(1, data.options);
    (void)root.finish(core::Deadline::after(std::chrono::seconds(30)));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().cause(), core::Cause::kUnreachable) << report.error().message();
    EXPECT_TRUE(data.copied(1).empty());
    EXPECT_EQ(copy_testing::work_directories(data.destination(1)).size(), 1U) << "what came is kept";
}

}  // namespace
}  // namespace belay::stage
