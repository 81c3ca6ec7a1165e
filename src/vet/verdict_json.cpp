#include "vet/verdict_json.h"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::vet {

namespace {

using core::Result;
using core::system_error;
using Json = nlohmann::json;

constexpr size_t kMaxChecks = 10'000, kMaxNodes = 1'000'000;

Json number_or_null(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Result<std::string> text_field(const Json& object, const char* name) {
    auto it = object.find(name);
    if (it == object.end() || it->is_null()) return std::string();
    if (!it->is_string()) return system_error("field \"{}\" is not a text", name);
    return it->get<std::string>();
}

Result<std::optional<double>> number_field(const Json& object, const char* name) {
    auto it = object.find(name);
    if (it == object.end() || it->is_null()) return std::optional<double>();
    if (!it->is_number()) return system_error("field \"{}\" is not a number", name);
    return std::optional(it->get<double>());
}

Result<Status> status_field(const Json& object, const char* name) {
    BELAY_TRY(text, text_field(object, name));
    auto status = status_of_name(text);
    if (!status) return system_error("field \"{}\": \"{}\" is not a status", name, text);
    return *status;
}

Result<const Json*> list_field(const Json& object, const char* name, size_t limit) {
    if (!object.is_object()) return system_error("not an object");
    auto it = object.find(name);
    if (it == object.end() || !it->is_array() || it->size() > limit)
        return system_error("field \"{}\" is not a list of at most {}", name, limit);
    return &*it;
}

Result<std::vector<std::string>> texts_field(const Json& object, const char* name) {
    BELAY_TRY(list, list_field(object, name, kMaxNodes));
    std::vector<std::string> out;
    for (const Json& item : *list) {
        if (!item.is_string()) return system_error("field \"{}\" holds something else than texts", name);
        out.push_back(item.get<std::string>());
    }
    return out;
}

}  // namespace

Json to_json(const CheckResult& check) {
    return {{"name", check.name},
            {"type", check.type},
            {"status", status_name(check.status)},
            {"severity", severity_name(check.severity)},
            {"device", text_or_null(check.device)},
            {"value", number_or_null(check.value)},
            {"unit", text_or_null(check.unit)},
            {"limit", number_or_null(check.limit)},
            {"reason", text_or_null(check.reason)},
            {"seconds", check.seconds}};
}

Json to_json(const NodeVerdict& node) {
    Json checks = Json::array();
    for (const CheckResult& check : node.checks) checks.push_back(to_json(check));
    return {{"node", node.node},
            {"verdict", status_name(node.verdict)},
            {"report", status_name(node.report)},
            {"report_problem", text_or_null(node.report_problem)},
            {"checks", std::move(checks)}};
}

Json to_json(const Verdicts& verdicts) {
    Json nodes = Json::array();
    for (const NodeVerdict& node : verdicts.nodes) nodes.push_back(to_json(node));
    return {{"protocol", verdicts.protocol}, {"verdict", verdicts.passed ? "pass" : "fail"},
            {"vetted", verdicts.vetted},     {"cordoned", verdicts.cordoned},
            {"nodes", std::move(nodes)},     {"stopped_early", verdicts.stopped_early}};
}

Result<CheckResult> check_from_json(const Json& value) {
    if (!value.is_object()) return system_error("a check is not an object");
    CheckResult check;
    for (auto [name, field] :
         {std::pair("name", &check.name), std::pair("type", &check.type), std::pair("device", &check.device),
          std::pair("unit", &check.unit), std::pair("reason", &check.reason)}) {
        BELAY_TRY(text, text_field(value, name));
        *field = std::move(text);
    }
    BELAY_TRY(status, status_field(value, "status"));
    BELAY_TRY(severity, text_field(value, "severity"));
    BELAY_TRY(measured, number_field(value, "value"));
    BELAY_TRY(limit, number_field(value, "limit"));
    BELAY_TRY(seconds, number_field(value, "seconds"));
    check.status = status;
    check.severity =
        severity == severity_name(Severity::kWarning) ? Severity::kWarning : Severity::kEssential;
    check.value = measured;
    check.limit = limit;
    check.seconds = seconds.value_or(0);
    return check;
}

Result<NodeVerdict> node_from_json(const Json& value) {
    BELAY_TRY(checks, list_field(value, "checks", kMaxChecks));
    NodeVerdict node;
    BELAY_TRY(name, text_field(value, "node"));
    BELAY_TRY(verdict, status_field(value, "verdict"));
    node.node = name;
    node.verdict = verdict;
    if (value.contains("report")) {
        BELAY_TRY(report, status_field(value, "report"));
        node.report = report;
    }
    BELAY_TRY(problem, text_field(value, "report_problem"));
    node.report_problem = problem;
    for (const Json& item : *checks) {
        BELAY_TRY(check, check_from_json(item));
        node.checks.push_back(std::move(check));
    }
    return node;
}

Result<Verdicts> verdicts_from_json(const Json& value) {
    BELAY_TRY(nodes, list_field(value, "nodes", kMaxNodes));
    Verdicts verdicts;
    BELAY_TRY(protocol, text_field(value, "protocol"));
    BELAY_TRY(verdict, text_field(value, "verdict"));
    BELAY_TRY(vetted, texts_field(value, "vetted"));
    BELAY_TRY(cordoned, texts_field(value, "cordoned"));
    verdicts.protocol = protocol;
    verdicts.passed = verdict == "pass";
    verdicts.vetted = std::move(vetted);
    verdicts.cordoned = std::move(cordoned);
    if (auto it = value.find("stopped_early"); it != value.end() && it->is_boolean())
        verdicts.stopped_early = it->get<bool>();
    for (const Json& item : *nodes) {
        BELAY_TRY(node, node_from_json(item));
        verdicts.nodes.push_back(std::move(node));
    }
    return verdicts;
}

std::string compact(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace belay::vet
