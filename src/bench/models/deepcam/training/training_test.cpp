#include "bench/models/deepcam/training/model.h"
#include "bench/models/deepcam/training/tiny_size_for_tests.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

using testing::HasSubstr;

RunOptions tiny_run() {
    RunOptions options{.profile = tiny_size().run};
    options.log_steps = 4;
    return options;
}

Finished train(const RunOptions& options, Group& group) {
    return bench::train(*make_model(tiny_size()), options, group);
}

TEST(bench_deepcam_training, log_has_what_the_closed_division_wants) {
    Group alone;
    const Finished finished = train(tiny_run(), alone);
    ASSERT_TRUE(finished.outcome) << finished.outcome.error().message();
    // closed_deepcam.yaml and closed_deepcam_cosine_annealing.yaml.
    for (const char* key :
         {"gradient_accumulation_frequency", "seed", "global_batch_size", "batchnorm_group_size", "opt_name",
          "opt_lr", "opt_betas", "opt_eps", "scheduler_type", "scheduler_lr_warmup_steps",
          "scheduler_lr_warmup_factor", "scheduler_t_max", "scheduler_eta_min", "train_samples",
          "eval_samples", "eval_accuracy"})
        EXPECT_TRUE(last_event(finished, key)) << key;
    EXPECT_GT(last_event(finished, "model_parameters_count")->value, 0);
    EXPECT_EQ(last_event(finished, "eval_accuracy")->value, finished.outcome->metric);
}

TEST(bench_deepcam_training, is_decided_by_its_seeds) {
    Group alone;
    auto digest = [&](uint64_t seed, uint64_t data_seed) {
        RunOptions options = tiny_run();
        options.steps = 4;
        options.seed = seed;
        options.data.seed = data_seed;
        return train(options, alone).outcome->weights_digest;
    };
    const std::string first = digest(1, 1);
    EXPECT_EQ(first, digest(1, 1));
    EXPECT_NE(first, digest(2, 1));
    EXPECT_NE(first, digest(1, 2));
}

TEST(bench_deepcam_training, on_files_equals_training_on_what_is_made) {
    Group alone;
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    RunOptions options = tiny_run();
    options.steps = 4;
    ASSERT_TRUE(make_model(tiny_size())->write_data(1, options.profile, directory.path(), 2));
    const std::string made = train(options, alone).outcome->weights_digest;
    options.data.directory = directory.path();
    EXPECT_EQ(train(options, alone).outcome->weights_digest, made);
    std::filesystem::resize_file(directory.path() / "train/000000.climate", 100);
    EXPECT_THAT(train(options, alone).outcome.error().message(),
                HasSubstr("train/000000.climate: it has 100 bytes"));
    std::filesystem::remove_all(directory.path() / "train");
    EXPECT_FALSE(train(options, alone).outcome);
}

TEST(bench_deepcam_training, on_four_ranks_equals_training_on_one) {
    RunOptions options = tiny_run();
    options.steps = 10;
    Group alone;
    const Finished one = train(options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    Ranks(4).run([&](Group& group) {
        const Finished four = train(options, group);
        ASSERT_TRUE(four.outcome) << four.outcome.error().message();
        if (group.rank() != 0) return;
        ASSERT_EQ(four.weights.size(), one.weights.size());
        for (size_t i = 0; i < one.weights.size(); ++i)
            ASSERT_NEAR(four.weights[i], one.weights[i], 1e-5) << i;
        const double metric = last_event(four, "eval_accuracy")->value->get<double>();
        EXPECT_NEAR(metric, last_event(one, "eval_accuracy")->value->get<double>(), 1e-3);
    });
}

}  // namespace
}  // namespace belay::bench::deepcam
