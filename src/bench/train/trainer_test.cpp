#include "bench/train/trainer.h"

#include "bench/train/linear_model_for_tests.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"

#include <limits>

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
    EXPECT_EQ(last_event(finished, "opt_name")->value, "plain");
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
    profile.train_samples = 7;
    EXPECT_EQ(refusal(profile, 1), "7 training samples do not fill one batch of 8");
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
