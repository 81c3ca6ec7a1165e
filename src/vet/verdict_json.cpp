#include "vet/verdict_json.h"

#include "core/error_codec.h"
#include "core/tell.h"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::vet {

namespace {

constexpr double kMostCpus = 1e6;  // of a node

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

Result<std::optional<core::Error>> failure_field(const Json& object, const char* name) {
    BELAY_TRY(digits, text_field(object, name));
    if (digits.empty()) return std::optional<core::Error>();
    BELAY_TRY(failure, core::with_context(core::error_from_hex(digits),
                                          fmt::format("field \"{}\" is not an error", name)));
    return std::optional(std::move(failure));
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

// Whom the JSON is for: words for people and other programs, failures whole for Belay itself.
enum class For { kPeople, kBelay };

Json json_of(const CheckResult& check, For whom) {
    Json json = {{"name", check.name},
                 {"type", check.type},
                 {"status", status_name(check.status)},
                 {"severity", severity_name(check.severity)},
                 {"device", text_or_null(check.device)},
                 {"value", number_or_null(check.value)},
                 {"unit", text_or_null(check.unit)},
                 {"limit", number_or_null(check.limit)},
                 {"seconds", check.seconds}};
    if (!check.method.empty()) json["method"] = check.method;
    if (check.cpus) json["cpus"] = *check.cpus;
    const core::Error* failure = check.reason.failure();
    if (whom == For::kBelay && failure != nullptr)
        json["failure"] = core::error_to_hex(*failure);
    else
        json["reason"] = text_or_null(check.reason.text());
    return json;
}

Json json_of(const NodeVerdict& node, For whom) {
    Json checks = Json::array();
    for (const CheckResult& check : node.checks) checks.push_back(json_of(check, whom));
    Json json = {{"node", node.node},
                 {"verdict", status_name(node.verdict)},
                 {"report", status_name(node.report)},
                 {"checks", std::move(checks)}};
    if (whom == For::kPeople)
        json["report_problem"] = node.report_problem ? Json(core::in_one_line(*node.report_problem)) : Json();
    else if (node.report_problem)
        json["report_failure"] = core::error_to_hex(*node.report_problem);
    return json;
}

Json json_of(const Verdicts& verdicts, For whom) {
    Json nodes = Json::array();
    for (const NodeVerdict& node : verdicts.nodes) nodes.push_back(json_of(node, whom));
    return {{"protocol", verdicts.protocol}, {"verdict", verdicts.passed ? "pass" : "fail"},
            {"vetted", verdicts.vetted},     {"cordoned", verdicts.cordoned},
            {"nodes", std::move(nodes)},     {"stopped_early", verdicts.stopped_early}};
}

}  // namespace

Json to_json(const CheckResult& check) {
    return json_of(check, For::kPeople);
}
Json to_json(const NodeVerdict& node) {
    return json_of(node, For::kPeople);
}
Json to_json(const Verdicts& verdicts) {
    return json_of(verdicts, For::kPeople);
}
Json to_wire(const CheckResult& check) {
    return json_of(check, For::kBelay);
}
Json to_wire(const NodeVerdict& node) {
    return json_of(node, For::kBelay);
}
Json to_wire(const Verdicts& verdicts) {
    return json_of(verdicts, For::kBelay);
}

Result<CheckResult> check_from_json(const Json& value) {
    if (!value.is_object()) return system_error("a check is not an object");
    CheckResult check;
    for (auto [name, field] :
         {std::pair("name", &check.name), std::pair("type", &check.type), std::pair("device", &check.device),
          std::pair("method", &check.method), std::pair("unit", &check.unit)}) {
        BELAY_TRY(text, text_field(value, name));
        *field = std::move(text);
    }
    BELAY_TRY(failure, failure_field(value, "failure"));
    BELAY_TRY(reason, text_field(value, "reason"));
    check.reason = failure ? Reason(std::move(*failure)) : Reason(std::move(reason));
    BELAY_TRY(status, status_field(value, "status"));
    BELAY_TRY(severity, text_field(value, "severity"));
    BELAY_TRY(cpus, number_field(value, "cpus"));
    BELAY_TRY(measured, number_field(value, "value"));
    BELAY_TRY(limit, number_field(value, "limit"));
    BELAY_TRY(seconds, number_field(value, "seconds"));
    check.status = status;
    check.severity =
        severity == severity_name(Severity::kWarning) ? Severity::kWarning : Severity::kEssential;
    if (cpus && *cpus >= 0 && *cpus <= kMostCpus) check.cpus = static_cast<int64_t>(*cpus);
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
    BELAY_TRY(failure, failure_field(value, "report_failure"));
    BELAY_TRY(problem, text_field(value, "report_problem"));
    node.report_problem = std::move(failure);
    if (!node.report_problem && !problem.empty()) node.report_problem = system_error("{}", problem).error();
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
