#include "bench/train/log_settings.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

constexpr int kMilestones[] = {16, 22};
constexpr double kDecay[] = {0.1, 0.01};

Profile some_profile(LogStyle style) {
    return {.train_samples = 80,
            .batch = 8,
            .maximum_epochs = 4,
            .rate = {.warmup_rate = 0.002,
                     .base_rate = 0.01,
                     .decay_factors = kDecay,
                     .warmup_steps = 5,
                     .decay_steps = kMilestones},
            .optimizer = {.method = Method::kAdamW, .epsilon = 1e-6, .weight_decay = 0.5},
            .log_style = style};
}

// closed_cosmoflow.yaml, closed_oc20.yaml and closed_deepcam*.yaml of mlcommons/logging.
TEST(bench, log_settings_have_the_keys_of_each_benchmark) {
    using progress::Json;
    EXPECT_EQ(optimizer_settings(some_profile(LogStyle::kEpochs)),
              Json::parse(R"({"opt_name": "AdamW", "opt_base_learning_rate": 0.01,
                "opt_learning_rate_warmup_epochs": 0.5, "opt_learning_rate_warmup_factor": 0.2,
                "opt_learning_rate_decay_boundary_epochs": [1.6, 2.2], "opt_learning_rate_decay_factor": [0.1, 0.01],
                "opt_weight_decay": 0.5})"));
    EXPECT_EQ(optimizer_settings(some_profile(LogStyle::kSteps)),
              Json::parse(R"({"opt_name": "AdamW", "opt_base_learning_rate": 0.01,
                "opt_learning_rate_warmup_steps": 5, "opt_learning_rate_warmup_factor": 0.2,
                "opt_learning_rate_decay_boundary_steps": [16, 22], "opt_learning_rate_decay_factor": [0.1, 0.01],
                "opt_weight_decay": 0.5})"));
    EXPECT_EQ(
        optimizer_settings(some_profile(LogStyle::kScheduler)),
        Json::parse(R"({"gradient_accumulation_frequency": 1, "batchnorm_group_size": 1, "opt_name": "AdamW",
                "opt_lr": 0.01, "opt_betas": [0.9, 0.999], "opt_eps": 1e-6, "opt_weight_decay": 0.5,
                "scheduler_type": "multistep", "scheduler_lr_warmup_steps": 5, "scheduler_lr_warmup_factor": 5.0,
                "scheduler_milestones": [16, 22], "scheduler_decay_rate": 0.1})"));
}

TEST(bench, log_settings_of_lamb_with_a_cosine) {
    Profile profile = some_profile(LogStyle::kScheduler);
    profile.optimizer = {.method = Method::kLamb, .maximum_gradient_norm = 1};
    profile.rate.course = Course::kCosine;
    const progress::Json settings = optimizer_settings(profile);
    EXPECT_EQ(settings["opt_name"], "LAMB");
    EXPECT_EQ(settings["opt_bias_correction"], true);
    EXPECT_EQ(settings["opt_grad_averaging"], true);
    EXPECT_EQ(settings["opt_max_grad_norm"], 1);
    EXPECT_EQ(settings["scheduler_type"], "cosine_annealing");
    EXPECT_EQ(settings["scheduler_t_max"], 35);
    EXPECT_EQ(settings["scheduler_eta_min"], 0);
    EXPECT_FALSE(settings.contains("scheduler_milestones"));
}

}  // namespace
}  // namespace belay::bench
