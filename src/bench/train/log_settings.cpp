#include "bench/train/log_settings.h"

#include <cmath>

namespace belay::bench {

using progress::Json;

namespace {

// A key and what it says of a profile; null where it does not apply.
struct Row {
    const char* key;
    Json (*value)(const Profile&);
};

int64_t warmup_steps(const Profile& profile) {
    return profile.rate.steps_of_warmup(profile.steps_per_epoch());
}

Json whole_or_real(double number) {
    if (number == std::floor(number)) return static_cast<int64_t>(number);
    return number;
}

Json boundary_steps(const Profile& profile) {
    return profile.rate.boundary_steps(profile.steps_per_epoch(), profile.total_steps());
}
Json boundary_epochs(const Profile& profile) {
    Json epochs = Json::array();
    for (int64_t step : profile.rate.boundary_steps(profile.steps_per_epoch(), profile.total_steps()))
        epochs.push_back(whole_or_real(static_cast<double>(step) / profile.steps_per_epoch()));
    return epochs;
}
Json decay_factors(const Profile& profile) {
    return std::vector<double>(profile.rate.decay_factors.begin(), profile.rate.decay_factors.end());
}
Json peak(const Profile& profile) {
    return profile.rate.peak(profile.batch);
}
Json first_of_peak(const Profile& profile) {
    return profile.rate.first(profile.batch) / profile.rate.peak(profile.batch);
}
bool is_cosine(const Profile& profile) {
    return profile.rate.course == Course::kCosine;
}
bool is_lamb(const Profile& profile) {
    return profile.optimizer.method == Method::kLamb;
}

Json optimizer_name(const Profile& profile) {
    return logged_name_of(profile.optimizer.method);
}
Json weight_decay(const Profile& profile) {
    return profile.optimizer.weight_decay;
}

constexpr Row kEpochRows[] = {
    {"opt_name", optimizer_name},
    {"opt_base_learning_rate", peak},
    {"opt_learning_rate_warmup_epochs",
     [](const Profile& profile) {
         return whole_or_real(static_cast<double>(warmup_steps(profile)) / profile.steps_per_epoch());
     }},
    {"opt_learning_rate_warmup_factor", first_of_peak},
    {"opt_learning_rate_decay_boundary_epochs", boundary_epochs},
    {"opt_learning_rate_decay_factor", decay_factors},
    {"opt_weight_decay", weight_decay},
};

constexpr Row kStepRows[] = {
    {"opt_name", optimizer_name},
    {"opt_base_learning_rate", peak},
    {"opt_learning_rate_warmup_steps", [](const Profile& profile) { return Json(warmup_steps(profile)); }},
    {"opt_learning_rate_warmup_factor", first_of_peak},
    {"opt_learning_rate_decay_boundary_steps", boundary_steps},
    {"opt_learning_rate_decay_factor", decay_factors},
    {"opt_weight_decay", weight_decay},
};

// The rate of DeepCAM's reference rises to the peak from the peak over the factor, which so is 1 or more.
constexpr Row kSchedulerRows[] = {
    {"gradient_accumulation_frequency", [](const Profile&) { return Json(1); }},
    // The ranks whose samples are normalised together.
    {"batchnorm_group_size", [](const Profile&) { return Json(1); }},
    {"opt_name", optimizer_name},
    {"opt_lr", peak},
    {"opt_betas",
     [](const Profile& profile) { return Json({profile.optimizer.beta1, profile.optimizer.beta2}); }},
    {"opt_eps", [](const Profile& profile) { return Json(profile.optimizer.epsilon); }},
    {"opt_weight_decay", weight_decay},
    {"opt_bias_correction", [](const Profile& profile) { return is_lamb(profile) ? Json(true) : Json(); }},
    {"opt_grad_averaging", [](const Profile& profile) { return is_lamb(profile) ? Json(true) : Json(); }},
    {"opt_max_grad_norm",
     [](const Profile& profile) {
         return is_lamb(profile) ? Json(profile.optimizer.maximum_gradient_norm) : Json();
     }},
    {"scheduler_type",
     [](const Profile& profile) { return Json(is_cosine(profile) ? "cosine_annealing" : "multistep"); }},
    {"scheduler_lr_warmup_steps", [](const Profile& profile) { return Json(warmup_steps(profile)); }},
    {"scheduler_lr_warmup_factor",
     [](const Profile& profile) {
         return warmup_steps(profile) > 0 && profile.rate.first(profile.batch) > 0
                    ? Json(profile.rate.peak(profile.batch) / profile.rate.first(profile.batch))
                    : Json(1.0);
     }},
    {"scheduler_milestones",
     [](const Profile& profile) { return is_cosine(profile) ? Json() : boundary_steps(profile); }},
    {"scheduler_decay_rate",
     [](const Profile& profile) {
         if (is_cosine(profile)) return Json();
         return Json(profile.rate.decay_factors.empty() ? 1.0 : profile.rate.decay_factors[0]);
     }},
    {"scheduler_t_max",
     [](const Profile& profile) {
         return is_cosine(profile) ? Json(std::max<int64_t>(1, profile.total_steps() - warmup_steps(profile)))
                                   : Json();
     }},
    {"scheduler_eta_min",
     [](const Profile& profile) { return is_cosine(profile) ? Json(profile.rate.final_rate) : Json(); }},
};

std::span<const Row> rows_of(LogStyle style) {
    switch (style) {
        case LogStyle::kEpochs:
            return kEpochRows;
        case LogStyle::kSteps:
            return kStepRows;
        case LogStyle::kScheduler:
            break;
    }
    return kSchedulerRows;
}

}  // namespace

Json optimizer_settings(const Profile& profile) {
    Json settings = Json::object();
    for (const Row& row : rows_of(profile.log_style))
        if (Json value = row.value(profile); !value.is_null()) settings[row.key] = std::move(value);
    return settings;
}

void log_settings(const Model& model, const Profile& profile, uint64_t seed, int ranks, int nodes,
                  MllogOutput& log) {
    log.event("submission_benchmark", model.name());
    // The mini profile has its own name here, so that nobody takes its logs for official results.
    log.event("submission_org", fmt::format("belay-{}", profile.name));
    log.event("submission_division", "closed");
    log.event("submission_status", "onprem");
    log.event("submission_platform",
              fmt::format("cpu-{}", nodes == 1 ? "1-node" : fmt::format("{}-nodes", nodes)));
    log.event("number_of_nodes", nodes);
    log.event("accelerators_per_node", 0);
    log.event("number_of_ranks", ranks);
    log.event("seed", seed);
    log.event("global_batch_size", profile.batch);
    log.event("train_samples", profile.train_samples);
    log.event("eval_samples", profile.eval_samples);
    log.event("eval_target", profile.target);
    Json settings = model.settings();
    settings.update(optimizer_settings(profile));
    for (const auto& [key, value] : settings.items()) log.event(key, value);
}

}  // namespace belay::bench
