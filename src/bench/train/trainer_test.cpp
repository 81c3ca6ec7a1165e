#include "bench/train/trainer.h"

#include "bench/train/linear_model_for_tests.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"
#include "core/file.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::HasSubstr;

RunOptions run_of(const Model& model) {
    return {.profile = model.profile(), .log_steps = 4};
}

TEST(bench, trainer_trains_a_model_of_another_kind) {
    const LinearModel model;
    Group alone;
    Finished finished = train(model, run_of(model), alone);
    ASSERT_TRUE(finished.outcome) << finished.outcome.error().message();
    EXPECT_TRUE(finished.outcome->target_reached);
    EXPECT_GE(finished.outcome->metric, 0.9) << "more is better";
    EXPECT_GT(finished.outcome->epochs, 1);
    ASSERT_EQ(finished.weights.size(), 3u);
    EXPECT_NEAR(finished.weights[0], 2, 0.2);
    EXPECT_NEAR(finished.weights[1], -1, 0.2);
    EXPECT_EQ(last_event(finished, "submission_benchmark")->value, "line");
    EXPECT_EQ(last_event(finished, "submission_org")->value, "belay-only");
    EXPECT_EQ(last_event(finished, "opt_name")->value, "sgd")
        << "the optimizer's own name goes before the model's";
    EXPECT_EQ(last_event(finished, "lines")->value, 1);
    EXPECT_EQ(last_event(finished, "eval_accuracy")->value, finished.outcome->metric);
    EXPECT_EQ(last_event(finished, "eval_accuracy")->metadata->at("samples"), 11);
    EXPECT_EQ(last_event(finished, "eval_accuracy")->metadata->at("epoch_num"), finished.outcome->epochs);
    EXPECT_EQ(last_event(finished, "eval_error"), nullptr);
    EXPECT_EQ(last_event(finished, "run_stop")->metadata->at("status"), "success");
}

TEST(bench, trainer_gives_up_after_the_last_epoch) {
    const LinearModel model;
    Group alone;
    RunOptions options = run_of(model);
    options.profile.target = 1.5;
    options.profile.maximum_epochs = 3;
    Finished finished = train(model, options, alone);
    ASSERT_TRUE(finished.outcome);
    EXPECT_FALSE(finished.outcome->target_reached);
    EXPECT_EQ(finished.outcome->epochs, 3);
    EXPECT_EQ(last_event(finished, "run_stop")->metadata->at("status"), "aborted");
}

TEST(bench, trainer_ends_the_same_with_four_ranks) {
    const LinearModel model;
    RunOptions options = run_of(model);
    options.steps = 10;
    Group alone;
    Finished one = train(model, options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    Ranks(4).run([&](Group& group) {
        Finished four = train(model, options, group);
        ASSERT_TRUE(four.outcome) << four.outcome.error().message();
        if (group.rank() != 0) return;
        ASSERT_EQ(four.weights.size(), one.weights.size());
        for (size_t i = 0; i < one.weights.size(); ++i)
            EXPECT_NEAR(four.weights[i], one.weights[i], 1e-5) << i;
    });
}

TEST(bench, trainer_ends_the_same_with_and_without_overlap) {
    const LinearModel model;
    RunOptions options = run_of(model);
    options.steps = 10;
    options.bucket_bytes = 4;
    Ranks(3).run([&](Group& group) {
        RunOptions mine = options;
        mine.profile.batch = 9;
        Finished with = train(model, mine, group);
        mine.overlap = false;
        Finished without = train(model, mine, group);
        ASSERT_TRUE(with.outcome) << with.outcome.error().message();
        ASSERT_TRUE(without.outcome) << without.outcome.error().message();
        EXPECT_EQ(with.outcome->weights_digest, without.outcome->weights_digest);
        if (group.rank() != 0) return;
        const auto* stats = last_event(with, "tracked_stats");
        EXPECT_GT(stats->value->at("exposed_communication_seconds").get<double>(), 0);
        EXPECT_GE(stats->value->at("data_wait_seconds").get<double>(), 0);
    });
}

// Killed in the middle of an epoch, between two checkpoints, and with momentum.
TEST(bench, trainer_that_resumes_ends_at_the_same_bits) {
    const LinearModel model;
    const auto directory = *core::TemporaryDirectory::create();
    for (Method method : {Method::kSgd, Method::kLamb}) {
        RunOptions options = run_of(model);
        options.profile.optimizer = {.method = method};
        options.profile.rate.base_rate = options.profile.rate.warmup_rate = 0.01;
        options.profile.target = 2;
        options.profile.maximum_epochs = 4;
        Group alone;
        const Finished straight = train(model, options, alone);
        ASSERT_TRUE(straight.outcome) << straight.outcome.error().message();

        options.checkpoint = directory.path() / name_of(method);
        options.checkpoint_every = 4;
        options.resume = true;
        options.fail_at_step = 11;  // of 6 in an epoch
        EXPECT_FALSE(train(model, options, alone).outcome);
        options.fail_at_step = 0;
        const Finished resumed = train(model, options, alone);
        ASSERT_TRUE(resumed.outcome) << resumed.outcome.error().message();
        EXPECT_EQ(resumed.outcome->resumed_from_step, 8);
        EXPECT_EQ(last_event(resumed, "resumed_from_step")->value, 8);
        EXPECT_EQ(resumed.outcome->weights_digest, straight.outcome->weights_digest) << name_of(method);
        EXPECT_EQ(resumed.outcome->metric, straight.outcome->metric);

        options.profile.batch = 10;
        EXPECT_THAT(train(model, options, alone).outcome.error().message(),
                    HasSubstr("it is of another run: batch is 8 there, and 10 here"));
    }
}

TEST(bench, trainer_resumes_on_all_ranks) {
    const LinearModel model;
    const auto directory = *core::TemporaryDirectory::create();
    Ranks(2).run([&](Group& group) {
        RunOptions options = run_of(model);
        options.profile.optimizer.momentum = 0.5;
        options.profile.target = 2;
        options.profile.maximum_epochs = 2;
        const Finished straight = train(model, options, group);
        options.checkpoint = directory.path() / "state";
        options.steps = 5;
        options.checkpoint_every = 5;
        ASSERT_TRUE(train(model, options, group).outcome);
        options.steps = 0;
        options.resume = true;
        const Finished resumed = train(model, options, group);
        ASSERT_TRUE(resumed.outcome) << resumed.outcome.error().message();
        EXPECT_EQ(resumed.outcome->resumed_from_step, 5);
        EXPECT_EQ(resumed.outcome->weights_digest, straight.outcome->weights_digest);
    });
}

TEST(bench, trainer_refuses_sizes_that_do_not_fit) {
    LinearModel model;
    auto refusal = [&](const Profile& profile, int ranks) {
        auto checked = check_sizes(model, {.profile = profile}, ranks, 1);
        EXPECT_FALSE(checked);
        return checked ? "" : checked.error().message();
    };
    Profile profile = model.profile();
    EXPECT_TRUE(check_sizes(model, {.profile = profile}, 4, 1));
    EXPECT_EQ(refusal(profile, 3), "a global batch of 8 does not divide evenly over 3 ranks");
    model.samples_together_ = 2;
    EXPECT_TRUE(check_sizes(model, {.profile = profile}, 4, 1));
    EXPECT_EQ(
        refusal(profile, 8),
        "line normalizes 2 samples at a time, which one rank must have, and each of 8 ranks has 1 in a step");
    profile.batch = 7;
    EXPECT_TRUE(check_sizes(model, {.profile = profile}, 1, 1)) << "alone, a rank has all of them";
    profile.batch = 8;
    profile.train_samples = 7;
    EXPECT_EQ(refusal(profile, 1), "7 training samples do not fill one batch of 8");
    auto refused = [&](const RunOptions& options) {
        return check_sizes(model, options, 2, 1).error().message();
    };
    EXPECT_EQ(refused({.profile = model.profile(), .split = 2}),
              "--split: samples of line cannot be split over 2 ranks");
    EXPECT_THAT(refused({.profile = model.profile(), .resume = true}),
                HasSubstr("without --checkpoint FILE"));
    EXPECT_THAT(refused({.profile = model.profile(), .stage_to = "/tmp/x"}), HasSubstr("nothing to stage"));
    model.bytes_per_sample_ = 1e15;
    EXPECT_THAT(refusal(model.profile(), 1), HasSubstr("GiB of memory on each node"));

    Group alone;
    RunOptions options = run_of(model);
    options.profile.train_samples = 7;
    Finished finished = train(model, options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_EQ(finished.outcome.error().exit_status(), 2);
    EXPECT_TRUE(finished.log.empty());
}

TEST(bench, trainer_fails_where_a_test_asks_it_to) {
    const LinearModel model;
    Group alone;
    RunOptions options = run_of(model);
    options.fail_at_step = 3;
    Finished finished = train(model, options, alone);
    ASSERT_FALSE(finished.outcome);
    EXPECT_THAT(finished.outcome.error().message(), HasSubstr("rank 0 fails at step 3"));
}

TEST(bench, training_that_runs_out_of_memory_says_so_with_its_cause) {
    LinearModel model;
    model.out_of_memory_ = true;
    Group group;
    const Finished finished = train(model, {.profile = model.profile()}, group);
    ASSERT_FALSE(finished.outcome);
    EXPECT_EQ(finished.outcome.error().message(), "rank 0 of 1: out of memory");
    EXPECT_EQ(finished.outcome.error().errno_value(), ENOMEM);
}

}  // namespace
}  // namespace belay::bench
