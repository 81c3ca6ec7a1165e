#include "vet/protocol_json.h"

#include "core/text.h"
#include "core/yaml.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::vet {

namespace {

using core::YamlType;
using Json = nlohmann::json;

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json default_of(const Parameter& parameter) {
    if (parameter.default_text.empty()) return nullptr;
    auto node = core::parse_yaml({parameter.default_text, "default"});
    if (!node) return parameter.default_text;
    switch (node->type) {
        case YamlType::kBoolean:
            return node->text == "true";
        case YamlType::kInteger:
        case YamlType::kNumber:
            if (auto value = core::parse_number<int64_t>(node->text)) return *value;
            return core::parse_number<double>(node->text).value_or(0);
        case YamlType::kList: {
            Json list = Json::array();
            for (const core::YamlNode& item : node->items) list.push_back(item.text);
            return list;
        }
        case YamlType::kMap:
            return Json::object();
        default:
            return node->text;
    }
}

Json range_of(const Parameter& parameter) {
    if (!parameter.range) return nullptr;
    double most = parameter.range->most;
    return {{"least", parameter.range->least}, {"most", std::isinf(most) ? Json() : Json(most)}};
}

Json value_json(const ParameterValue& value) {
    struct Writer {
        Json operator()(const std::string& text) const { return text; }
        Json operator()(int64_t number) const { return number; }
        Json operator()(double number) const { return number; }
        Json operator()(bool flag) const { return flag; }
        Json operator()(core::Duration duration) const { return core::to_seconds(duration); }
        Json operator()(core::ByteSize size) const { return size.bytes; }
        Json operator()(core::Bandwidth bandwidth) const { return bandwidth.bytes_per_second(); }
        Json operator()(const TextList& list) const { return list; }
        Json operator()(const Variables& variables) const {
            Json map = Json::object();
            for (const auto& [name, wanted] : variables) map[name] = wanted ? Json(*wanted) : Json();
            return map;
        }
    };
    return std::visit(Writer{}, value);
}

Json to_json(const Check& check) {
    Json parameters = Json::object();
    for (const auto& [name, value] : check.parameters) parameters[name] = value_json(value);
    return {{"name", check.name},
            {"type", check.written_type},
            {"severity", severity_name(check.severity)},
            {"scope", scope_name(check.type->scope)},
            {"timeout", core::to_seconds(check.timeout)},
            {"supported", check.type->unsupported_because.empty()},
            {"parameters", std::move(parameters)}};
}

}  // namespace

Json to_json(const CheckType& type) {
    Json parameters = Json::array();
    for (const Parameter& parameter : type.parameters)
        parameters.push_back({{"name", parameter.name},
                              {"type", kind_name(parameter.kind)},
                              {"unit", text_or_null(parameter.unit)},
                              {"default", default_of(parameter)},
                              {"required", parameter.required},
                              {"range", range_of(parameter)},
                              {"meaning", parameter.meaning}});
    return {{"type", type.type},
            {"scope", scope_name(type.scope)},
            {"cost", cost_name(type.cost)},
            {"summary", type.summary},
            {"supported", type.unsupported_because.empty()},
            {"parameters", std::move(parameters)}};
}

Json to_json(const Protocol& protocol) {
    Json checks = Json::array(), warnings = Json::array();
    for (const Check& check : protocol.checks) checks.push_back(to_json(check));
    for (const core::Error& warning : protocol.warnings) {
        Json& entry = warnings.emplace_back(Json{{"message", warning.message()}});
        if (!warning.position()) continue;
        entry["line"] = warning.position()->line;
        entry["column"] = warning.position()->column;
    }
    return {{"protocol", protocol.name},
            {"file", protocol.file},
            {"timeout", protocol.timeout ? Json(core::to_seconds(*protocol.timeout)) : Json()},
            {"checks", std::move(checks)},
            {"warnings", std::move(warnings)}};
}

}  // namespace belay::vet
