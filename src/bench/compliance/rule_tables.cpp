// Every rule of HPC 1.0.0, 2.0.0 and 3.0.0, from the YAML files of mlcommons/logging 4.1.59
// (mlperf_logging/compliance_checker/hpc_ROUND). Round 2.0 is 1.0 unchanged; 3.0 lets staging begin before the
// run and adds OpenFold.
#include "bench/compliance/rule.h"

namespace belay::bench {

namespace {

constexpr RuleTest not_empty{.kind = TestKind::kNotEmpty};
constexpr RuleTest has_value{.kind = TestKind::kHasValue};
constexpr RuleTest fraction{.kind = TestKind::kFraction};
constexpr RuleTest true_value{.kind = TestKind::kTrue};
constexpr RuleTest has_length{.kind = TestKind::kHasLength};
constexpr RuleTest one_of(std::array<std::string_view, 4> words) {
    return {.kind = TestKind::kOneOf, .words = words};
}
constexpr RuleTest more_than(double number) {
    return {.kind = TestKind::kMoreThan, .number = number};
}
constexpr RuleTest at_least(double number) {
    return {.kind = TestKind::kAtLeast, .number = number};
}
constexpr RuleTest at_most(double number) {
    return {.kind = TestKind::kAtMost, .number = number};
}
constexpr RuleTest is(double number) {
    return {.kind = TestKind::kEquals, .number = number};
}
constexpr RuleTest samples_of_full_data(double number) {
    return {.kind = TestKind::kSampleCount, .number = number};
}
constexpr RuleTest is_word(std::string_view word) {
    return {.kind = TestKind::kEqualsWord, .word = word};
}
constexpr RuleTest is_bool(bool value) {
    return {.kind = TestKind::kEqualsBool, .number = value ? 1.0 : 0.0};
}
constexpr RuleTest of_length(double number) {
    return {.kind = TestKind::kLength, .number = number};
}
constexpr RuleTest close_to(double number) {
    return {.kind = TestKind::kCloseTo, .number = number};
}
constexpr RuleTest after(LogState state) {
    return {.kind = TestKind::kAfter, .state = state};
}
constexpr RuleTest not_after(LogState state) {
    return {.kind = TestKind::kNotAfter, .state = state};
}
constexpr RuleTest metadata(std::string_view word) {
    return {.kind = TestKind::kMetadataHas, .word = word};
}
constexpr RuleTest positive_metadata(std::string_view word) {
    return {.kind = TestKind::kMetadataPositive, .word = word};
}
constexpr RuleEffect sets(LogState state) {
    return {.kind = EffectKind::kSet, .state = state};
}
constexpr RuleEffect enqueues(std::string_view prefix, std::string_view suffix = {}) {
    return {.kind = EffectKind::kEnqueue, .prefix = prefix, .suffix = suffix};
}

constexpr RuleCount k1 = RuleCount::kExactlyOne;
constexpr RuleCount kMany = RuleCount::kAtLeastOne;
constexpr RuleCount kOptional = RuleCount::kOptional;
constexpr RuleCount kOr = RuleCount::kThisOrOther;
constexpr Rounds kBefore3 = kRound1 | kRound2;

constexpr double kInitMilliseconds = 30 * 60 * 1e3;  // the comment in the official file says 20 minutes

constexpr Rule kCommon[] = {
    {"submission_org", k1, {not_empty}},
    {"submission_platform", k1, {not_empty}},
    {"submission_division", k1, {one_of({"closed", "open"})}, enqueues("", "_common")},
    {"submission_status", k1, {one_of({"cloud", "onprem", "preview", "research"})}},
    {"cache_clear", kMany, {has_value}},
    {"init_start",
     kMany,
     {not_after(LogState::kInitStopped), not_after(LogState::kRunStarted)},
     sets(LogState::kInitStarted)},
    {"init_stop",
     k1,
     {after(LogState::kInitStarted),
      not_after(LogState::kRunStarted),
      {.kind = TestKind::kSoonAfterInit, .number = kInitMilliseconds}},
     sets(LogState::kInitStopped)},
    {.key = "staging_start",
     .count = kOptional,
     .tests = {after(LogState::kRunStarted)},
     .effect = sets(LogState::kStagingStarted),
     .rounds = kBefore3},
    {.key = "staging_start",
     .count = kOptional,
     .effect = sets(LogState::kStagingStarted),
     .rounds = kRound3},
    {"staging_stop", kOptional, {after(LogState::kStagingStarted)}},
    {"run_start", k1, {after(LogState::kInitStopped)}, sets(LogState::kRunStarted)},
    {"run_stop", k1, {after(LogState::kRunStarted), metadata("status")}, sets(LogState::kRunStopped)},
    {.key = "block_start",
     .count = kOr,
     .tests = {after(LogState::kRunStarted), metadata("epoch_count"), metadata("first_epoch_num"),
               positive_metadata("epoch_count")},
     .other = "epoch_start"},
    {.key = "block_stop", .count = kOr, .tests = {metadata("first_epoch_num")}, .other = "epoch_stop"},
    {.key = "epoch_start", .count = kOr, .tests = {metadata("epoch_num")}, .other = "block_start"},
    {.key = "epoch_stop", .count = kOr, .tests = {metadata("epoch_num")}, .other = "block_stop"},
    {.key = "eval_start", .count = kOr, .tests = {metadata("epoch_num")}, .other = "block_start"},
    {.key = "eval_stop", .count = kOr, .tests = {metadata("epoch_num")}, .other = "block_stop"},
    {"train_samples", k1, {not_empty}},
    {"eval_samples", k1, {not_empty}},
};

constexpr Rule benchmark_rule(std::string_view prefix, Rounds rounds) {
    return {.key = "submission_benchmark",
            .count = k1,
            .tests = {one_of(rounds == kRound3
                                 ? std::array<std::string_view, 4>{"deepcam", "cosmoflow", "oc20", "openfold"}
                                 : std::array<std::string_view, 4>{"deepcam", "cosmoflow", "oc20"})},
            .effect = enqueues(prefix),
            .rounds = rounds};
}

constexpr Rule kClosedCommon[] = {
    benchmark_rule("closed_", kBefore3),
    benchmark_rule("closed_", kRound3),
    {"gradient_accumulation_steps", kOptional, {more_than(0)}},
    {"gradient_accumulation_frequency", kOptional, {more_than(0)}},
    {"number_of_nodes", k1, {more_than(0)}},
    {"accelerators_per_node", k1, {at_least(0)}},
};

constexpr Rule kOpenCommon[] = {benchmark_rule("open_", kBefore3), benchmark_rule("open_", kRound3)};

constexpr Rule target_rule(std::string_view key, TestKind kind, double target) {
    return {.key = key,
            .count = kMany,
            .tests = {metadata("epoch_num")},
            .any = {.kind = kind, .number = target}};
}

constexpr Rule kCosmoflowTarget = target_rule("eval_error", TestKind::kErrorReached, 0.124);
constexpr Rule kDeepcamTarget = target_rule("eval_accuracy", TestKind::kAccuracyReached, 0.82);
constexpr Rule kOc20Target = target_rule("eval_error", TestKind::kErrorReached, 0.036);
constexpr Rule kOpenfoldTarget = target_rule("eval_accuracy", TestKind::kAccuracyReached, 0.8);

constexpr Rule kOpenCosmoflow[] = {kCosmoflowTarget};
constexpr Rule kOpenDeepcam[] = {kDeepcamTarget};
constexpr Rule kOpenOc20[] = {kOc20Target};
constexpr Rule kOpenOpenfold[] = {kOpenfoldTarget};

constexpr Rule kClosedCosmoflow[] = {
    {"global_batch_size", k1, {more_than(0)}},
    {"opt_name", k1, {one_of({"sgd", "SGD"})}},
    {"opt_base_learning_rate", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_epochs", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_factor", k1, {at_least(0)}},
    {"opt_learning_rate_decay_boundary_epochs", k1},
    {"opt_learning_rate_decay_factor", k1},
    {"dropout", kOptional, {fraction}},
    {"opt_weight_decay", kOptional, {at_least(0)}},
    kCosmoflowTarget,
};

constexpr Rule kClosedOc20[] = {
    {"global_batch_size", k1, {more_than(0)}},
    {"opt_name", k1, {is_word("AdamW")}},
    {"opt_base_learning_rate", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_steps", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_factor", k1, {at_least(0)}},
    {"opt_learning_rate_decay_boundary_steps", k1},
    {"opt_learning_rate_decay_factor", k1},
    kOc20Target,
};

constexpr Rule kClosedDeepcam[] = {
    {"gradient_accumulation_frequency", k1, {more_than(0)}},
    {"seed", k1, {more_than(0)}},
    {"global_batch_size", k1, {more_than(0)}},
    {"batchnorm_group_size", k1, {more_than(0)}},
    {"opt_name",
     k1,
     {one_of({"Adam", "AdamW", "LAMB"})},
     {.kind = EffectKind::kEnqueueIf, .prefix = "closed_deepcam_lamb", .word = "LAMB"}},
    {"opt_lr", k1, {more_than(0)}},
    {"opt_betas", k1, {of_length(2)}},
    {"opt_eps", k1, {close_to(1e-6)}},
    {"scheduler_type",
     k1,
     {one_of({"multistep", "cosine_annealing"})},
     {.kind = EffectKind::kEnqueueLower, .prefix = "closed_deepcam_"}},
    {"scheduler_lr_warmup_steps", k1, {at_least(0)}},
    {"scheduler_lr_warmup_factor", k1, {at_least(1)}},
    {"train_samples", k1, {samples_of_full_data(121266)}},
    {"eval_samples", k1, {samples_of_full_data(15158)}},
    kDeepcamTarget,
};

constexpr Rule kClosedDeepcamLamb[] = {
    {"opt_bias_correction", k1, {true_value}},
    {"opt_grad_averaging", k1, {true_value}},
    {"opt_max_grad_norm", k1, {is(1)}},
};

constexpr Rule kClosedDeepcamMultistep[] = {
    {"scheduler_milestones", k1, {has_length}},
    {"scheduler_decay_rate", k1, {at_most(1)}},
};

constexpr Rule kClosedDeepcamCosineAnnealing[] = {
    {"scheduler_t_max", k1, {at_least(1)}},
    {"scheduler_eta_min", k1, {at_least(0)}},
};

constexpr Rule kClosedOpenfold[] = {
    {"global_batch_size", k1, {more_than(0)}},
    kOpenfoldTarget,
    {"target_avg_lddt_ca_value", k1, {is(0.8)}},
    {"train_max_pdb_release_date", k1, {is_word("2021-09-16")}},
    {"val_min_cameo_submission_date", k1, {is_word("2021-09-17")}},
    {"val_max_cameo_submission_date", k1, {is_word("2021-12-11")}},
    {"val_max_sequence_length", k1, {is(700)}},
    {"val_every_iters", k1, {is(40)}},
    {"train_samples", k1, {is(594595)}},
    {"eval_samples", k1, {is(180)}},
    {"model_parameters_count", k1, {is(93229082)}},
    {"init_checkpoint_sha256sum",
     k1,
     {is_word("b518be4677048f2c0f94889c91e2da73655a73b825a8aa7f8b6f5e580d8ffbed")}},
    {"train_sequence_crop_size", k1, {is(256)}},
    {"num_recycling_iters", k1, {is(3)}},
    {"max_msa_clusters", k1, {is(124)}},
    {"max_extra_msa", k1, {is(1024)}},
    {"templates_enabled", k1, {is_bool(true)}},
    {"max_templates", k1, {is(4)}},
    {"fape_loss_weight", k1, {is(1)}},
    {"fape_loss_backbone_weight", k1, {is(0.5)}},
    {"fape_loss_sidechain_weight", k1, {is(0.5)}},
    {"supervised_chi_loss_weight", k1, {is(1)}},
    {"distogram_loss_weight", k1, {is(0.3)}},
    {"masked_msa_loss_weight", k1, {is(2)}},
    {"plddt_loss_weight", k1, {is(0.01)}},
    {"opt_name", k1, {is_word("Adam")}},
    {"opt_adam_beta_1", k1, {is(0.9)}},
    {"opt_adam_beta_2", k1, {is(0.999)}},
    {"opt_adam_epsilon", k1, {is(1e-6)}},
    {"opt_weight_decay", k1, {is(0)}},
    {"opt_amsgrad", k1, {is_bool(false)}},
    {"opt_gradient_clipping", k1, {is_bool(true)}},
    {"opt_gradient_clip_norm", k1, {is(0.1)}},
    {"swa_enabled", k1, {is_bool(true)}},
    {"swa_decay_rate", k1, {is(0.9)}},
    {"opt_base_learning_rate", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_init", k1, {at_least(0)}},
    {"opt_learning_rate_warmup_steps", k1, {at_least(0)}},
    {"initial_training_dataloader_type",
     k1,
     {one_of({"InitialTrainingDataloaderPT", "InitialTrainingDataloaderPQ"})}},
};

constexpr RuleFile kFiles[] = {
    {"common", kCommon},
    {"closed_common", kClosedCommon},
    {"open_common", kOpenCommon},
    {"closed_cosmoflow", kClosedCosmoflow},
    {"closed_deepcam", kClosedDeepcam},
    {"closed_deepcam_lamb", kClosedDeepcamLamb},
    {"closed_deepcam_multistep", kClosedDeepcamMultistep},
    {"closed_deepcam_cosine_annealing", kClosedDeepcamCosineAnnealing},
    {"closed_oc20", kClosedOc20},
    {"closed_openfold", kClosedOpenfold, kRound3},
    {"open_cosmoflow", kOpenCosmoflow},
    {"open_deepcam", kOpenDeepcam},
    {"open_oc20", kOpenOc20},
    {"open_openfold", kOpenOpenfold, kRound3},
};

}  // namespace

std::span<const RuleFile> all_rule_files() {
    return kFiles;
}

}  // namespace belay::bench
