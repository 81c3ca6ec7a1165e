#include "bench/models/cosmoflow/training/model.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"

#include <map>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

constexpr int kTinyChannels[] = {4, 4, 8};

Size tiny_size() {
    Size size = *size_named("mini");
    size.side = 8;
    size.channels = kTinyChannels;
    size.run.train_samples = 50;
    size.run.eval_samples = 11;
    size.run.maximum_epochs = 2;
    return size;
}

RunOptions tiny_run() {
    RunOptions options{.profile = tiny_size().run};
    options.log_steps = 4;
    return options;
}

Finished train(const RunOptions& options, Group& group) {
    return bench::train(*make_model(tiny_size()), options, group);
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
        EXPECT_THAT(line.event->metadata->at("file").get<std::string>(),
                    testing::AnyOf("src/bench/train/trainer.cpp", "src/bench/train/log_settings.cpp"));
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
        options.data.seed = data_seed;
        return train(options, alone).outcome->weights_digest;
    };
    std::string first = digest(1, 1);
    EXPECT_EQ(first, digest(1, 1));
    EXPECT_NE(first, digest(2, 1));
    EXPECT_NE(first, digest(1, 2));
}

TEST(bench, training_on_files_equals_training_on_what_is_made) {
    Group alone;
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    RunOptions options = tiny_run();
    ASSERT_TRUE(make_model(tiny_size())->write_data(1, options.profile, directory.path(), 2));
    const std::string made = train(options, alone).outcome->weights_digest;
    options.data.directory = directory.path();
    EXPECT_EQ(train(options, alone).outcome->weights_digest, made);
    std::filesystem::resize_file(directory.path() / "train/000003.universe", 100);
    EXPECT_THAT(train(options, alone).outcome.error().message(),
                HasSubstr("train/000003.universe: it has 100 bytes"));
    std::filesystem::remove_all(directory.path() / "train");
    EXPECT_FALSE(train(options, alone).outcome);
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

// Two ranks with half a volume each, and two such pairs with half a batch each.
TEST(bench, training_on_split_volumes_equals_training_on_whole_ones) {
    RunOptions options = tiny_run();
    options.steps = 10;
    Group alone;
    const Finished one = train(options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    options.steps = 0;
    options.profile.maximum_epochs = 1;
    const Finished judged = train(options, alone);
    for (int size : {2, 4})
        Ranks(size).run([&](Group& group) {
            RunOptions split = tiny_run();
            split.steps = 10;
            split.split = 2;
            const Finished parts = train(split, group);
            ASSERT_TRUE(parts.outcome) << parts.outcome.error().message();
            split.steps = 0;
            split.profile.maximum_epochs = 1;
            const Finished evaluated = train(split, group);
            if (group.rank() != 0) return;
            ASSERT_EQ(parts.weights.size(), one.weights.size());
            for (size_t i = 0; i < one.weights.size(); ++i)
                ASSERT_NEAR(parts.weights[i], one.weights[i], 1e-5) << size << " ranks, " << i;
            EXPECT_NEAR(evaluated.outcome->metric, judged.outcome->metric, 1e-5);
        });
}

// Killed in the middle of an epoch, with dropout, which draws anew what it would have drawn.
TEST(bench, training_that_resumes_ends_at_the_same_bits) {
    const auto directory = *core::TemporaryDirectory::create();
    Size size = tiny_size();
    size.dropout = 0.5;
    RunOptions options = tiny_run();
    Group alone;
    const Finished straight = bench::train(*make_model(size), options, alone);
    options.checkpoint = directory.path() / "state";
    options.checkpoint_every = 4;
    options.resume = true;
    options.fail_at_step = 10;
    EXPECT_FALSE(bench::train(*make_model(size), options, alone).outcome);
    options.fail_at_step = 0;
    const Finished resumed = bench::train(*make_model(size), options, alone);
    ASSERT_TRUE(resumed.outcome) << resumed.outcome.error().message();
    EXPECT_EQ(resumed.outcome->resumed_from_step, 8);
    EXPECT_EQ(resumed.outcome->weights_digest, straight.outcome->weights_digest);
}

TEST(bench, training_in_small_buckets_is_the_same_with_and_without_overlap) {
    Ranks(2).run([&](Group& group) {
        RunOptions options = tiny_run();
        options.steps = 6;
        options.bucket_bytes = 1 << 10;
        const Finished with = train(options, group);
        options.overlap = false;
        const Finished without = train(options, group);
        ASSERT_TRUE(with.outcome) << with.outcome.error().message();
        ASSERT_TRUE(without.outcome) << without.outcome.error().message();
        EXPECT_EQ(with.outcome->weights_digest, without.outcome->weights_digest);
    });
}

TEST(bench, training_on_staged_files_is_timed_and_the_same) {
    const auto directory = *core::TemporaryDirectory::create();
    RunOptions options = tiny_run();
    ASSERT_TRUE(make_model(tiny_size())->write_data(1, options.profile, directory.path() / "data", 2));
    Group alone;
    const std::string made = train(options, alone).outcome->weights_digest;
    options.data.directory = directory.path() / "data";
    options.stage_to = directory.path() / "node";
    const Finished staged = train(options, alone);
    ASSERT_TRUE(staged.outcome) << staged.outcome.error().message();
    EXPECT_EQ(staged.outcome->weights_digest, made);
    EXPECT_EQ(last_event(staged, "staging_stop")->metadata->at("files"), 59) << "48 samples fill batches";
    EXPECT_GT(staged.outcome->staging_seconds, 0);
    std::vector<std::string> course;
    for (const auto& line : staged.log)
        if (line.event->event_type != progress::kPointInTime) course.push_back(*line.event->key);
    course.resize(6);
    EXPECT_THAT(course, testing::ElementsAre("init_start", "init_stop", "run_start", "staging_start",
                                             "staging_stop", "epoch_start"));
}

TEST(bench, training_that_diverges_says_so) {
    Group alone;
    RunOptions options = tiny_run();
    options.profile.rate.warmup_rate = options.profile.rate.base_rate = 1e30;
    Finished finished = train(options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_THAT(finished.outcome.error().message(), HasSubstr("has diverged"));
    EXPECT_EQ(finished.outcome.error().exit_status(), 1);
}

TEST(bench, training_needs_memory_for_all_samples) {
    const Size full = *size_named("full");
    auto checked = check_sizes(*make_model(full), {.profile = full.run}, 1, 1);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr("GiB of memory on each node"));
}

}  // namespace
}  // namespace belay::bench::cosmoflow
