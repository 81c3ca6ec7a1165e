#include "env/container/plan_json.h"

#include "core/json.h"

#include <nlohmann/json.hpp>

namespace belay::env {

using Json = nlohmann::ordered_json;
using core::Result;

namespace {

// The library throws where a type is wrong or a field is missing; its message names neither.
template <typename T>
Result<> read_field(const Json& json, const char* name, T& value) {
    auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end()) return core::bad_input("plan: {} is missing", name);
    try {
        if constexpr (std::integral<T> && !std::same_as<T, bool>)
            value = core::integer_from<T>(*found);
        else
            value = found->template get<T>();
        return {};
    } catch (const Json::exception&) {
        return core::bad_input("plan: {} cannot be {}", name, found->type_name());
    }
}

Result<> require_absolute(const char* name, const std::string& path) {
    if (path.starts_with('/') && path.find('\0') == std::string::npos) return {};
    return core::bad_input("plan: {} must be an absolute path", name);
}

Json to_json(const Bind& bind) {
    return {{"source", bind.source},
            {"destination", bind.destination},
            {"options", bind.options},
            {"squashfs", bind.squashfs},
            {"if_present", bind.if_present}};
}

Result<Bind> bind_from_json(const Json& json) {
    Bind bind;
    BELAY_CHECK(read_field(json, "source", bind.source));
    BELAY_CHECK(read_field(json, "destination", bind.destination));
    BELAY_CHECK(read_field(json, "options", bind.options));
    BELAY_CHECK(read_field(json, "squashfs", bind.squashfs));
    BELAY_CHECK(read_field(json, "if_present", bind.if_present));
    BELAY_CHECK(require_absolute("source", bind.source));
    BELAY_CHECK(require_absolute("destination", bind.destination));
    return bind;
}

}  // namespace

Json to_json(const VariablePlan& plan) {
    return {{"environment", plan.environment}, {"unset", plan.unset}, {"image", plan.image}};
}

Json to_json(const ContainerPlan& plan) {
    Json binds = Json::array();
    for (const Bind& bind : plan.binds) binds.push_back(to_json(bind));
    return {
        {"image", plan.image_file},  {"writable", plan.writable}, {"overlay_bytes", plan.overlay_size.bytes},
        {"binds", std::move(binds)}, {"workdir", plan.workdir},   {"entrypoint", plan.entrypoint}};
}

Result<VariablePlan> variable_plan_from_json(const Json& json) {
    VariablePlan plan;
    BELAY_CHECK(read_field(json, "environment", plan.environment));
    BELAY_CHECK(read_field(json, "unset", plan.unset));
    BELAY_CHECK(read_field(json, "image", plan.image));
    return plan;
}

Result<ContainerPlan> container_plan_from_json(const Json& json) {
    ContainerPlan plan;
    BELAY_CHECK(read_field(json, "image", plan.image_file));
    BELAY_CHECK(read_field(json, "writable", plan.writable));
    BELAY_CHECK(read_field(json, "overlay_bytes", plan.overlay_size.bytes));
    BELAY_CHECK(read_field(json, "workdir", plan.workdir));
    BELAY_CHECK(read_field(json, "entrypoint", plan.entrypoint));
    BELAY_CHECK(require_absolute("image", plan.image_file));
    BELAY_CHECK(require_absolute("workdir", plan.workdir));
    Json binds;
    BELAY_CHECK(read_field(json, "binds", binds));
    if (!binds.is_array()) return core::bad_input("plan: binds cannot be {}", binds.type_name());
    for (const Json& entry : binds) {
        BELAY_TRY(bind, bind_from_json(entry));
        plan.binds.push_back(std::move(bind));
    }
    return plan;
}

}  // namespace belay::env
