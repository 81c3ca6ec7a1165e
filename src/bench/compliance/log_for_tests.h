// One valid log for each benchmark, as lines that a test changes.
#pragma once

#include "bench/compliance/check.h"
#include "bench/compliance/rules.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::bench {

struct TestLine {
    std::string key, value, metadata;  // the last two as JSON
    int64_t time_ms = 0;
};

struct TestLog {
    std::vector<TestLine> lines;

    void add(std::string key, std::string value, std::string metadata = "{}") {
        const int64_t time = 1'700'000'000'000 + 1000 * static_cast<int64_t>(lines.size());
        lines.push_back({std::move(key), std::move(value), std::move(metadata), time});
    }
    void add_values(std::initializer_list<std::pair<const char*, const char*>> values) {
        for (const auto& [key, value] : values) add(key, value);
    }
    TestLine& line(std::string_view key) {
        const auto found = std::ranges::find(lines, key, &TestLine::key);
        EXPECT_NE(found, lines.end()) << key;
        return *found;
    }
    void set_value(std::string_view key, const std::string& value) {
        for (TestLine& line : lines)
            if (line.key == key) line.value = value;
    }
    void set_metadata(std::string_view key, const std::string& metadata) {
        for (TestLine& line : lines)
            if (line.key == key) line.metadata = metadata;
    }
    void remove(std::string_view key) {
        std::erase_if(lines, [&](const TestLine& line) { return line.key == key; });
    }
    void move_to_front(std::string_view key) {
        std::ranges::stable_partition(lines, [&](const TestLine& line) { return line.key == key; });
    }
    std::string text() const {
        std::string text = "not a line of MLLOG\n";
        for (const TestLine& line : lines)
            text += fmt::format(
                ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
                "\"key\": "
                "\"{}\", \"value\": {}, \"metadata\": {}}}\n",
                line.time_ms, line.key, line.value, line.metadata);
        return text;
    }
};

// `optimizer` and `scheduler` choose rule files of DeepCAM.
inline TestLog valid_log(std::string_view benchmark, std::string_view division,
                         std::string_view optimizer = "AdamW", std::string_view scheduler = "multistep") {
    TestLog log;
    log.add_values({{"submission_org", "\"site\""}, {"submission_platform", "\"system\""}});
    log.add("submission_division", fmt::format("\"{}\"", division));
    log.add_values({{"submission_status", "\"onprem\""}});
    log.add("submission_benchmark", fmt::format("\"{}\"", benchmark));
    log.add_values({{"cache_clear", "null"},
                    {"init_start", "null"},
                    {"number_of_nodes", "4"},
                    {"accelerators_per_node", "8"},
                    {"global_batch_size", "256"},
                    {"gradient_accumulation_steps", "1"},
                    {"gradient_accumulation_frequency", "1"},
                    {"train_samples", benchmark == "deepcam"    ? "121266"
                                      : benchmark == "openfold" ? "594595"
                                                                : "1000"},
                    {"eval_samples", benchmark == "deepcam"    ? "15158"
                                     : benchmark == "openfold" ? "180"
                                                               : "100"}});
    log.add("seed", "7", R"({"file": "train.py", "lineno": 12})");
    if (benchmark == "cosmoflow")
        log.add_values({{"opt_name", "\"sgd\""},
                        {"opt_base_learning_rate", "0.001"},
                        {"opt_learning_rate_warmup_epochs", "4"},
                        {"opt_learning_rate_warmup_factor", "1"},
                        {"opt_learning_rate_decay_boundary_epochs", "[32, 64]"},
                        {"opt_learning_rate_decay_factor", "[0.25, 0.125]"},
                        {"dropout", "0.5"},
                        {"opt_weight_decay", "0.0"}});
    if (benchmark == "oc20")
        log.add_values({{"opt_name", "\"AdamW\""},
                        {"opt_base_learning_rate", "0.0004"},
                        {"opt_learning_rate_warmup_steps", "31252"},
                        {"opt_learning_rate_warmup_factor", "0.2"},
                        {"opt_learning_rate_decay_boundary_steps", "[125008, 187512]"},
                        {"opt_learning_rate_decay_factor", "0.1"}});
    if (benchmark == "deepcam") {
        log.add("opt_name", fmt::format("\"{}\"", optimizer));
        log.add("scheduler_type", fmt::format("\"{}\"", scheduler));
        log.add_values({{"batchnorm_group_size", "1"},
                        {"opt_lr", "0.0055"},
                        {"opt_betas", "[0.9, 0.999]"},
                        {"opt_eps", "1e-06"},
                        {"scheduler_lr_warmup_steps", "400"},
                        {"scheduler_lr_warmup_factor", "1.0"}});
        if (optimizer == "LAMB")
            log.add_values(
                {{"opt_bias_correction", "true"}, {"opt_grad_averaging", "1"}, {"opt_max_grad_norm", "1.0"}});
        if (scheduler == "multistep")
            log.add_values({{"scheduler_milestones", "[800]"}, {"scheduler_decay_rate", "0.1"}});
        else
            log.add_values({{"scheduler_t_max", "9000"}, {"scheduler_eta_min", "0.0"}});
    }
    if (benchmark == "openfold")
        log.add_values({{"target_avg_lddt_ca_value", "0.8"},
                        {"train_max_pdb_release_date", "\"2021-09-16\""},
                        {"val_min_cameo_submission_date", "\"2021-09-17\""},
                        {"val_max_cameo_submission_date", "\"2021-12-11\""},
                        {"val_max_sequence_length", "700"},
                        {"val_every_iters", "40"},
                        {"model_parameters_count", "93229082"},
                        {"init_checkpoint_sha256sum",
                         "\"b518be4677048f2c0f94889c91e2da73655a73b825a8aa7f8b6f5e580d8ffbed\""},
                        {"train_sequence_crop_size", "256"},
                        {"num_recycling_iters", "3"},
                        {"max_msa_clusters", "124"},
                        {"max_extra_msa", "1024"},
                        {"templates_enabled", "true"},
                        {"max_templates", "4"},
                        {"fape_loss_weight", "1.0"},
                        {"fape_loss_backbone_weight", "0.5"},
                        {"fape_loss_sidechain_weight", "0.5"},
                        {"supervised_chi_loss_weight", "1.0"},
                        {"distogram_loss_weight", "0.3"},
                        {"masked_msa_loss_weight", "2.0"},
                        {"plddt_loss_weight", "0.01"},
                        {"opt_name", "\"Adam\""},
                        {"opt_adam_beta_1", "0.9"},
                        {"opt_adam_beta_2", "0.999"},
                        {"opt_adam_epsilon", "1e-06"},
                        {"opt_weight_decay", "0.0"},
                        {"opt_amsgrad", "false"},
                        {"opt_gradient_clipping", "true"},
                        {"opt_gradient_clip_norm", "0.1"},
                        {"swa_enabled", "true"},
                        {"swa_decay_rate", "0.9"},
                        {"opt_base_learning_rate", "0.001"},
                        {"opt_learning_rate_warmup_init", "1e-05"},
                        {"opt_learning_rate_warmup_steps", "1000"},
                        {"initial_training_dataloader_type", "\"InitialTrainingDataloaderPT\""}});
    log.add_values(
        {{"init_stop", "null"}, {"run_start", "null"}, {"staging_start", "null"}, {"staging_stop", "null"}});
    const bool is_accuracy = benchmark == "deepcam" || benchmark == "openfold";
    for (const char* epoch : {"1", "2"}) {
        const std::string number = fmt::format("{{\"epoch_num\": {}}}", epoch);
        const std::string block = fmt::format("{{\"first_epoch_num\": {}, \"epoch_count\": 1}}", epoch);
        log.add("block_start", "null", block);
        log.add("epoch_start", "null", number);
        log.add("eval_start", "null", number);
        log.add(is_accuracy ? "eval_accuracy" : "eval_error", is_accuracy ? "0.9" : "0.03", number);
        log.add("eval_stop", "null", number);
        log.add("epoch_stop", "null", number);
        log.add("block_stop", "null", block);
    }
    log.add("run_stop", "null", R"({"status": "success"})");
    return log;
}

inline const RuleSet& rules_named(std::string_view name) {
    static const RuleSet sets[] = {RuleSet::named("1.0.0").value(), RuleSet::named("2.0.0").value(),
                                   RuleSet::named("3.0.0").value()};
    return *std::ranges::find(sets, name, &RuleSet::name);
}

inline LogVerdict verdict_on(const TestLog& log, const CheckOptions& options = {},
                             std::string_view rules = "3.0.0") {
    return check_log(rules_named(rules), "result_0.txt", log.text(), options);
}

inline std::vector<std::string> keys_of(const std::vector<LogMessage>& messages) {
    std::vector<std::string> keys;
    for (const LogMessage& message : messages) keys.push_back(message.key);
    return keys;
}

inline std::string all_of(const std::vector<LogMessage>& messages) {
    std::string text;
    for (const LogMessage& message : messages)
        text += fmt::format("{} {}: {}\n", message.line, message.key, message.text);
    return text;
}

}  // namespace belay::bench
