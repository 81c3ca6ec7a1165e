#include "bench/train/trainer.h"

#include "core/file.h"
#include "progress/mllog.h"

#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using core::Result;
using testing::HasSubstr;

// Ranks as threads of this process, meeting by a file.
class Ranks {
  public:
    explicit Ranks(int size) : size_(size), directory_(*core::TemporaryDirectory::create()) {}

    template <typename Work>
    void run(Work work) {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < size_; ++rank)
            threads.emplace_back([this, rank, work] {
                World world{.launcher = Launcher::kVariables, .rank = rank, .size = size_};
                Rendezvous rendezvous{.file = directory_.path() / "meet", .local_address = "127.0.0.1"};
                auto group = Group::connect(
                    world, rendezvous,
                    {.timeout = std::chrono::seconds(30), .grace = std::chrono::milliseconds(1)});
                ASSERT_TRUE(group) << group.error().message();
                work(*group);
            });
    }

  private:
    int size_;
    core::TemporaryDirectory directory_;
};

TEST(bench, group_sums_broadcasts_and_gathers) {
    Ranks(3).run([](Group& group) {
        auto rank = static_cast<float>(group.rank());
        std::vector<float> values = {rank, 1, -rank};
        ASSERT_TRUE(group.sum(std::span(values)));
        EXPECT_THAT(values, testing::ElementsAre(3, 3, -3));
        std::vector<double> sums = {0.5};
        ASSERT_TRUE(group.sum(std::span(sums)));
        EXPECT_EQ(sums[0], 1.5);
        std::vector<float> mine(5, rank + 7);
        ASSERT_TRUE(group.broadcast(mine));
        EXPECT_THAT(mine, testing::Each(7));
        EXPECT_THAT(*group.gather(~uint64_t{0} - static_cast<uint64_t>(group.rank())),
                    testing::ElementsAre(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2));
        EXPECT_TRUE(group.barrier());
    });
}

// More values than one bucket holds.
TEST(bench, group_sums_in_buckets) {
    Ranks(2).run([](Group& group) {
        std::vector<float> values((size_t{26} << 20) / sizeof(float), 1.5F);
        ASSERT_TRUE(group.sum(std::span(values)));
        EXPECT_EQ(values.front(), 3);
        EXPECT_EQ(values.back(), 3);
    });
}

TEST(bench, group_reports_a_lost_rank) {
    Ranks(2).run([](Group& group) {
        ASSERT_TRUE(group.barrier());
        if (group.rank() == 1) return;  // its group goes, as if the process had
        std::vector<float> values(1000);
        auto sum = group.sum(std::span(values));
        ASSERT_FALSE(sum);
        EXPECT_THAT(sum.error().message(), HasSubstr("lost contact with another rank"));
        EXPECT_EQ(sum.error().message().find('\n'), std::string::npos);
        EXPECT_EQ(sum.error().exit_status(), 3);
    });
}

TEST(bench, group_of_one_needs_no_meeting) {
    Group group;
    std::vector<float> values = {2};
    EXPECT_TRUE(group.sum(std::span(values)));
    EXPECT_EQ(values[0], 2);
    EXPECT_THAT(*group.gather(5), testing::ElementsAre(5));
}

constexpr int kTinyChannels[] = {4, 4, 8};

RunOptions tiny_run() {
    RunOptions options{.profile = *profile_named("mini")};
    options.profile.side = 8;
    options.profile.channels = kTinyChannels;
    options.profile.train_samples = 50;
    options.profile.eval_samples = 11;
    options.profile.maximum_epochs = 2;
    options.log_steps = 4;
    return options;
}

struct Finished {
    Result<Outcome> outcome;
    std::vector<progress::MllogLine> log;
    std::vector<float> weights;
};

Finished train(RunOptions options, Group& group) {
    core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    auto path = directory.path() / "log";
    options.weights_out = directory.path() / "weights";
    core::Descriptor file = *core::open_file(path, O_CREAT | O_RDWR);
    MllogOutput log(group.rank() == 0 ? file.get() : -1, core::system_clock());
    Finished finished{run_training(options, group, 1, log, core::system_clock()), {}, {}};
    finished.log = progress::parse_mllog(*core::read_file(path));
    if (auto bytes = core::read_file(options.weights_out)) {
        finished.weights.resize(bytes->size() / sizeof(float));
        std::memcpy(finished.weights.data(), bytes->data(), bytes->size());
    }
    return finished;
}

TEST(bench, training_log_has_what_the_closed_division_wants) {
    Group alone;
    Finished finished = train(tiny_run(), alone);
    ASSERT_TRUE(finished.outcome) << finished.outcome.error().message();
    std::map<std::string, int> seen;
    std::vector<std::string> course;
    for (const auto& line : finished.log) {
        ASSERT_TRUE(line.event) << line.event.error().message();
        ++seen[*line.event->key];
        if (line.event->event_type != progress::kPointInTime || line.event->key == "eval_error")
            course.push_back(*line.event->key);
        EXPECT_EQ(line.event->metadata->at("file"), "src/bench/train/trainer.cpp");
    }
    // closed_cosmoflow.yaml and the files that lead to it: exactly one of each.
    for (const char* key : {"submission_org",
                            "submission_platform",
                            "submission_division",
                            "submission_status",
                            "submission_benchmark",
                            "init_stop",
                            "run_start",
                            "run_stop",
                            "train_samples",
                            "eval_samples",
                            "number_of_nodes",
                            "accelerators_per_node",
                            "global_batch_size",
                            "opt_name",
                            "opt_base_learning_rate",
                            "seed",
                            "opt_learning_rate_warmup_epochs",
                            "opt_learning_rate_warmup_factor",
                            "opt_learning_rate_decay_boundary_epochs",
                            "opt_learning_rate_decay_factor"})
        EXPECT_EQ(seen[key], 1) << key;
    EXPECT_EQ(seen["cache_clear"], 1);
    EXPECT_THAT(course,
                testing::ElementsAre("init_start", "init_stop", "run_start", "epoch_start", "eval_start",
                                     "eval_error", "eval_stop", "epoch_stop", "epoch_start", "eval_start",
                                     "eval_error", "eval_stop", "epoch_stop", "run_stop"));
}

const progress::MllogEvent* last_event(const Finished& finished, std::string_view key) {
    const progress::MllogEvent* found = nullptr;
    for (const auto& line : finished.log)
        if (line.event->key == key) found = &*line.event;
    return found;
}

TEST(bench, training_outcome_is_that_of_the_log) {
    Group alone;
    Finished finished = train(tiny_run(), alone);
    ASSERT_TRUE(finished.outcome);
    EXPECT_EQ(finished.outcome->epochs, 2);
    EXPECT_FALSE(finished.outcome->target_reached);
    EXPECT_EQ(last_event(finished, "run_stop")->metadata->at("status"), "aborted");
    EXPECT_EQ(last_event(finished, "eval_error")->value, finished.outcome->metric);
    EXPECT_EQ(last_event(finished, "eval_error")->metadata->at("epoch_num"), 2);
    EXPECT_EQ(last_event(finished, "weights_digest")->value, finished.outcome->weights_digest);
    const auto* stats = last_event(finished, "tracked_stats");
    EXPECT_EQ(stats->metadata->at("step"), 12) << "50 samples are 6 batches of 8";
    EXPECT_EQ(stats->value->at("learning_rate"), 0.005);
    for (const char* number : {"loss", "samples_per_second", "step_seconds"})
        EXPECT_GT(stats->value->at(number).get<double>(), 0) << number;

    RunOptions easy = tiny_run();
    easy.profile.target = 0.9;
    Finished stopped = train(easy, alone);
    EXPECT_TRUE(stopped.outcome->target_reached);
    EXPECT_EQ(stopped.outcome->epochs, 1);
    EXPECT_EQ(last_event(stopped, "run_stop")->metadata->at("status"), "success");
}

TEST(bench, training_is_decided_by_its_seeds) {
    Group alone;
    auto digest = [&](uint64_t seed, uint64_t data_seed) {
        RunOptions options = tiny_run();
        options.seed = seed;
        options.data_seed = data_seed;
        return train(options, alone).outcome->weights_digest;
    };
    std::string first = digest(1, 1);
    EXPECT_EQ(first, digest(1, 1));
    EXPECT_NE(first, digest(2, 1));
    EXPECT_NE(first, digest(1, 2));
}

TEST(bench, training_on_four_ranks_equals_training_on_one) {
    RunOptions options = tiny_run();
    options.steps = 10;
    Group alone;
    Finished one = train(options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    Ranks(4).run([&](Group& group) {
        Finished four = train(options, group);
        ASSERT_TRUE(four.outcome) << four.outcome.error().message();
        if (group.rank() != 0) return;
        EXPECT_EQ(last_event(four, "weights_digest")->metadata->at("by_rank").size(), 4u);
        ASSERT_EQ(four.weights.size(), one.weights.size());
        for (size_t i = 0; i < one.weights.size(); ++i)
            ASSERT_NEAR(four.weights[i], one.weights[i], 1e-5) << i;
        double metric = last_event(four, "eval_error")->value->get<double>();
        EXPECT_NEAR(metric, last_event(one, "eval_error")->value->get<double>(), 1e-5);
    });
}

TEST(bench, training_refuses_sizes_that_do_not_fit) {
    auto refusal = [](const Profile& profile, int ranks) {
        auto checked = check_sizes(profile, ranks, 1);
        EXPECT_FALSE(checked);
        return checked ? "" : checked.error().message();
    };
    Profile profile = tiny_run().profile;
    EXPECT_TRUE(check_sizes(profile, 4, 1));
    EXPECT_EQ(refusal(profile, 3), "a global batch of 8 does not divide evenly over 3 ranks");
    EXPECT_THAT(refusal(*profile_named("full"), 1), HasSubstr("GiB of memory on each node"));
    profile.train_samples = 7;
    EXPECT_EQ(refusal(profile, 1), "7 training samples do not fill one batch of 8");

    Group alone;
    RunOptions options = tiny_run();
    options.profile.train_samples = 7;
    Finished finished = train(options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_EQ(finished.outcome.error().exit_status(), 2);
    EXPECT_TRUE(finished.log.empty());
}

TEST(bench, training_fails_where_a_test_asks_it_to) {
    Group alone;
    RunOptions options = tiny_run();
    options.fail_at_step = 3;
    Finished finished = train(options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_THAT(finished.outcome.error().message(), HasSubstr("rank 0 fails at step 3"));
}

TEST(bench, training_that_diverges_says_so) {
    Group alone;
    RunOptions options = tiny_run();
    options.profile.warmup_rate = options.profile.base_rate = 1e30;
    Finished finished = train(options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_THAT(finished.outcome.error().message(), HasSubstr("has diverged"));
    EXPECT_EQ(finished.outcome.error().exit_status(), 1);
}

}  // namespace
}  // namespace belay::bench::cosmoflow
