#include "step/plan.h"

#include "core/json.h"
#include "env/container/container.h"
#include "step/environment_json.h"
#include "vet/step.h"

#include <nlohmann/json.hpp>

namespace belay::step {

using Json = nlohmann::ordered_json;
using core::Result;

namespace {

Json to_json(const VettingPlan& plan) {
    return {{"file", plan.file},
            {"text", plan.text},
            {"timeout_ns", plan.timeout.count()},
            {"fallback_name", plan.fallback_name}};
}

Json to_json(const observe::IoTracing& tracing) {
    return {{"library", tracing.library.string()}, {"tiers", tracing.tiers}};
}

Json to_json(const RecordingPlan& plan) {
    return {{"directory", plan.directory},
            {"interval_ns", plan.interval.count()},
            {"flush_ns", plan.flush.count()},
            {"progress_patterns", plan.progress_patterns},
            {"io", plan.io ? to_json(*plan.io) : Json()}};
}

Json to_json(const StagingPlan& plan) {
    return {{"source", plan.source},
            {"destination", plan.destination},
            {"longest_wait_ns", plan.longest_wait.count()},
            {"memory_share", plan.memory_share}};
}

template <typename Part>
Json to_json(const std::optional<Part>& part) {
    return part ? to_json(*part) : Json();
}

// For starting programs on a busy node, and for nodes that begin at different times.
constexpr core::Duration kSlack = std::chrono::seconds(30);

// These throw where a field is missing or has another type; decode_step_plan catches.
VettingPlan vetting_from(const Json& json) {
    return {json.at("file"), json.at("text"),
            core::Duration(core::integer_from<int64_t>(json.at("timeout_ns"))), json.at("fallback_name")};
}

std::optional<observe::IoTracing> io_tracing_from(const Json& json) {
    if (json.is_null()) return std::nullopt;
    return observe::IoTracing{json.at("library").get<std::string>(), json.at("tiers")};
}

RecordingPlan recording_from(const Json& json) {
    return {json.at("directory"), core::Duration(core::integer_from<int64_t>(json.at("interval_ns"))),
            core::Duration(core::integer_from<int64_t>(json.at("flush_ns"))), json.at("progress_patterns"),
            io_tracing_from(json.at("io"))};
}

StagingPlan staging_from(const Json& json) {
    return {json.at("source"), json.at("destination"),
            core::Duration(core::integer_from<int64_t>(json.at("longest_wait_ns"))),
            json.at("memory_share").get<double>()};
}

}  // namespace

std::string encode(const StepPlan& plan) {
    Json json = {{"secret", plan.secret},
                 {"environment", to_json(plan.environment)},
                 {"vetting", to_json(plan.vetting)},
                 {"recording", to_json(plan.recording)},
                 {"staging", to_json(plan.staging)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<StepPlan> decode_step_plan(std::string_view text) {
    try {
        Json json = core::parse_ordered_json(text);
        StepPlan plan{
            .secret = json.at("secret"), .environment = {}, .vetting = {}, .recording = {}, .staging = {}};
        if (const Json& part = json.at("environment"); !part.is_null()) {
            BELAY_TRY(environment, environment_from_json(part));
            plan.environment = std::move(environment);
        }
        if (const Json& part = json.at("vetting"); !part.is_null()) plan.vetting = vetting_from(part);
        if (const Json& part = json.at("recording"); !part.is_null()) plan.recording = recording_from(part);
        if (const Json& part = json.at("staging"); !part.is_null()) plan.staging = staging_from(part);
        return plan;
    } catch (const Json::exception& exception) {
        return core::system_error("the plan of the step cannot be read: {}", exception.what())
            .hint("is belay-step of the same version on all nodes?");
    }
}

bool needs_agreement(const StepPlan& plan) {
    return plan.environment || plan.vetting || plan.staging;
}

core::Duration longest_agreement(const StepPlan& plan) {
    bool contained = plan.environment && plan.environment->container;
    return kSlack + (contained ? env::longest_start(*plan.environment->container) : core::Duration::zero());
}

Result<core::Duration> longest_preparation(const StepPlan& plan) {
    core::Duration sum = kSlack;
    if (plan.vetting) {
        BELAY_TRY(protocol,
                  vet::parse_protocol(plan.vetting->text, plan.vetting->file, plan.vetting->fallback_name));
        sum += vet::longest_vetting_time(protocol, plan.vetting->timeout);
    }
    if (plan.environment && plan.environment->container)
        sum += env::longest_start(*plan.environment->container);
    if (plan.staging) sum += plan.staging->longest_wait;
    if (needs_agreement(plan)) sum += longest_agreement(plan);
    return sum;
}

}  // namespace belay::step
