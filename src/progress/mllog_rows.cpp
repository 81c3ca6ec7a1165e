#include "progress/mllog_rows.h"

#include "core/utf8.h"
#include "progress/fields.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace belay::progress {

namespace {

// Beyond this (about 292 years from 1970) nanoseconds leave 64 bits.
constexpr double kLatestMilliseconds = 9.2e12;

// Events whose value is the one number that counts.
struct ValueRule {
    Field field;  // its name is the event's key
    std::string_view kind;
};
constexpr ValueRule kValueRules[] = {
    {{"eval_error", &ProgressEvent::metric}, kEvaluation},
    {{"eval_accuracy", &ProgressEvent::metric}, kEvaluation},
    {{"train_loss", &ProgressEvent::loss}, kTrain},
};

constexpr std::string_view kTrackedStats = "tracked_stats";

// Members of the value of tracked_stats. Of two that lead to one field the earlier here counts.
constexpr Field kTrackedFields[] = {
    {"loss", &ProgressEvent::loss},
    {"samples_per_second", &ProgressEvent::samples_per_second},
    {"throughput", &ProgressEvent::samples_per_second},
    {"tokens_per_second", &ProgressEvent::tokens_per_second},
    {"flops_per_second", &ProgressEvent::flops_per_second},
    {"fp64_flops_per_second", &ProgressEvent::fp64_flops_per_second},
    {"fp32_flops_per_second", &ProgressEvent::fp32_flops_per_second},
    {"memory_bytes_per_second", &ProgressEvent::memory_bytes_per_second},
    {"step", &ProgressEvent::step},
    {"total_steps", &ProgressEvent::total_steps},
    {"epoch", &ProgressEvent::epoch},
    {"learning_rate", &ProgressEvent::learning_rate},
    {"lr", &ProgressEvent::learning_rate},
    {"step_seconds", &ProgressEvent::step_seconds},
    {"data_wait_seconds", &ProgressEvent::data_wait_seconds},
    {"exposed_communication_seconds", &ProgressEvent::exposed_communication_seconds},
    {"gradient_norm", &ProgressEvent::gradient_norm},
    {"grad_norm", &ProgressEvent::gradient_norm},
    {"samples", &ProgressEvent::samples},
    {"tokens", &ProgressEvent::tokens},
};

// mlcommons/logging, mllog/constants.py: EPOCH_NUM, STEP_NUM and SAMPLES_COUNT.
constexpr Field kMetadataFields[] = {
    {"epoch_num", &ProgressEvent::epoch},
    {"step_num", &ProgressEvent::step},
    {"samples_count", &ProgressEvent::samples},
};

std::optional<core::Time> time_from_milliseconds(std::optional<double> milliseconds) {
    if (!milliseconds || !(std::abs(*milliseconds) < kLatestMilliseconds)) return std::nullopt;
    double whole = std::floor(*milliseconds);  // apart, for a double holds today's nanoseconds only to 256
    int64_t rest = static_cast<int64_t>((*milliseconds - whole) * 1e6);
    return core::time_from_nanoseconds(static_cast<int64_t>(whole) * 1'000'000 + rest);
}

// Takes the numbers among an object's members that have a known name.
bool set_fields(ProgressEvent& event, const Json& object, std::span<const Field> fields) {
    bool any = false;
    if (!object.is_object()) return false;
    for (const Field& field : fields) {
        auto member = object.find(field.name);
        if (member != object.end() && member->is_number())
            any |= set_field(event, field, member->get<double>());
    }
    return any;
}

// True if the event is of a kind of its own.
bool set_known(ProgressEvent& event, const Json& value) {
    if (event.key == kTrackedStats && set_fields(event, value, kTrackedFields)) {
        event.kind = kTrain;
        return true;
    }
    auto rule =
        std::ranges::find_if(kValueRules, [&](const ValueRule& r) { return event.key == r.field.name; });
    if (rule == std::end(kValueRules) || !value.is_number()) return false;
    event.kind = rule->kind;
    return set_field(event, rule->field, value.get<double>());
}

void set_value(ProgressEvent& event, const Json& value) {
    constexpr Field kValue{"value", &ProgressEvent::value};
    if (value.is_number()) {
        set_field(event, kValue, value.get<double>());
    } else if (!value.is_null()) {
        std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
        event.text = core::utf8_prefix(text, kLongestText);
    }
}

}  // namespace

std::optional<ProgressEvent> progress_of(const MllogEvent& logged) {
    if (!logged.key) return std::nullopt;
    ProgressEvent event;
    event.source = kFromMllog;
    event.kind = kMark;
    event.time = time_from_milliseconds(logged.time_ms);
    event.key = core::utf8_prefix(*logged.key, kLongestText);
    const Json none;
    const Json& value = logged.value ? *logged.value : none;
    if (!set_known(event, value)) set_value(event, value);
    if (!logged.metadata) return event;
    set_fields(event, *logged.metadata, kMetadataFields);
    // run_stop has no value; what it says is whether the run reached its target.
    if (value.is_null() && logged.metadata->is_object() && logged.metadata->contains("status"))
        set_value(event, (*logged.metadata)["status"]);
    return event;
}

}  // namespace belay::progress
