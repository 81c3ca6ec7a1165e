#include "stage/bench/together.h"

#include "stage/bench/nodes.h"
#include "stage/bench/workload.h"

#include <atomic>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BenchReport report(uint64_t bytes, double seconds, double p99, double share) {
    BenchReport made{.directory = "/scratch", .file_system = "lustre"};
    made.results.push_back(
        {.name = "sequential read",
         .unit = std::string(kBytesUnit),
         .value = static_cast<double>(bytes) / seconds,
         .operations = bytes / 10,
         .bytes = bytes,
         .seconds = seconds,
         .first_done_seconds = seconds / 2,
         .latency = {.mean = seconds, .p50 = 1, .p90 = 2, .p99 = p99, .p999 = 9, .longest = 10},
         .cache = "bypassed (O_DIRECT)"});
    made.emulations.push_back({.model = "cosmoflow",
                               .accelerator = "H100",
                               .accelerators = 2,
                               .utilisation = Utilisation{share, 10},
                               .pass_share = 0.7,
                               .samples = 100,
                               .seconds = seconds,
                               .samples_per_second = 100 / seconds});
    return made;
}

TEST(stage_bench_nodes, amounts_add_up_over_the_time_of_the_slowest) {
    const BenchReport reports[] = {report(1000, 1, 3, 0.9), report(3000, 4, 5, 0.6)};
    const BenchReport sum = together(reports, std::vector<std::string>{"n1", "n2"}).value();
    const BenchResult& read = sum.results[0];
    EXPECT_EQ(read.bytes, 4000U);
    EXPECT_EQ(read.value, 1000);
    EXPECT_EQ(read.seconds, 4);
    EXPECT_EQ(read.first_done_seconds, 0.5);
    EXPECT_EQ(read.latency.p99, 5);
    EXPECT_EQ(read.latency.mean, (1.0 * 100 + 4.0 * 300) / 400);
    EXPECT_EQ(sum.options.nodes, 2U);
    EXPECT_NEAR(sum.emulations[0].utilisation->share, 0.75, 1e-12);
    EXPECT_EQ(sum.emulations[0].accelerators, 4U);
    EXPECT_EQ(sum.emulations[0].samples_per_second, 200.0 / 4);
    EXPECT_FALSE(sum.emulations[0].passes()) << "one node does not";
}

TEST(stage_bench_nodes, what_was_sent_comes_back) {
    const BenchReport sent = report(1000, 1, 3, 0.9);
    const BenchReport back = results_from_json(to_json(sent).dump()).value();
    EXPECT_EQ(to_json(back)["results"], to_json(sent)["results"]);
    EXPECT_EQ(to_json(back)["training"], to_json(sent)["training"]);
    for (const char* wrong : {"", "{}", "[]", R"({"directory": 1})"})
        EXPECT_EQ(results_from_json(wrong).error().kind(), core::ErrorKind::kBadInput) << wrong;
}

TEST(stage_bench_nodes, nodes_that_measured_something_else_are_refused) {
    BenchReport other = report(1000, 1, 3, 0.9);
    other.results[0].name = "random read";
    const BenchReport reports[] = {report(1000, 1, 3, 0.9), other};
    EXPECT_THAT(together(reports, std::vector<std::string>{"n1", "n2"}).error().message(),
                HasSubstr("n2 did not measure the same as n1"));
}

transfer::Members member(uint32_t rank, const std::string& name, size_t count = 3) {
    transfer::Members made{.rank = rank,
                           .root_address = std::string("127.0.0.1"),
                           .name = name + std::to_string(getpid()),
                           .secret = "s"};
    for (size_t i = 0; i < count; ++i) made.nodes.push_back("n" + std::to_string(i + 1));
    return made;
}

TEST(stage_bench_nodes, all_begin_together_and_the_first_gets_what_each_has) {
    std::atomic<int> arrived = 0;
    std::vector<std::string> gathered;
    const auto work = [&](uint32_t rank) {
        auto nodes = BenchNodes::open(member(rank, "together"));
        ASSERT_TRUE(nodes) << nodes.error().message();
        for (int part = 0; part < 3; ++part) {
            ++arrived;
            ASSERT_TRUE((*nodes)->meet("part " + std::to_string(part)));
            EXPECT_GE(arrived, 3 * (part + 1));
        }
        auto all = (*nodes)->gather("own " + std::to_string(rank));
        ASSERT_TRUE(all);
        if (rank == 0) gathered = *all;
    };
    {
        std::vector<std::jthread> threads;
        for (uint32_t rank = 0; rank < 3; ++rank) threads.emplace_back(work, rank);
    }
    EXPECT_THAT(gathered, ElementsAre("own 0", "own 1", "own 2"));
}

TEST(stage_bench_nodes, a_node_that_goes_or_does_something_else_is_named) {
    const auto first = [&](const std::string& name, std::string& said) {
        auto nodes = BenchNodes::open(member(0, name, 2),
                                      {.join = std::chrono::seconds(30), .part = std::chrono::seconds(30)});
        ASSERT_TRUE(nodes);
        const auto met = (*nodes)->meet("read");
        ASSERT_FALSE(met);
        said = met.error().message();
    };
    for (const std::string& name : {std::string("goes"), std::string("differs")}) {
        std::string said;
        std::jthread root([&] { first(name, said); });
        auto nodes = BenchNodes::open(member(1, name, 2));
        ASSERT_TRUE(nodes);
        if (name == "differs") {
            EXPECT_FALSE((*nodes)->meet("write"));
        } else {
            nodes->reset();
        }
        root.join();
        EXPECT_THAT(said, HasSubstr("n2"));
    }
}

}  // namespace
}  // namespace belay::stage
