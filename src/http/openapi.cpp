#include "http/openapi.h"

#include "core/text.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace belay::http {

namespace {

using Json = nlohmann::ordered_json;

// "/jobs/{job:number}" → "/jobs/{job}"
std::string openapi_path(const std::vector<Segment>& segments) {
    std::string path;
    for (const Segment& segment : segments)
        path += segment.kind == SegmentKind::kWord ? "/" + segment.text : "/{" + segment.text + "}";
    return path.empty() ? "/" : path;
}

Json parameter_json(const ParameterDoc& parameter, const std::vector<Segment>& segments) {
    const bool in_path = parameter.place == Place::kPath;
    const auto segment = std::ranges::find_if(
        segments, [&](const Segment& s) { return s.kind != SegmentKind::kWord && s.text == parameter.name; });
    const bool is_number = in_path && segment != segments.end() && segment->kind == SegmentKind::kNumber;
    return {{"name", parameter.name},
            {"in", in_path ? "path" : "query"},
            {"required", in_path || parameter.required},
            {"description", parameter.doc},
            {"schema", {{"type", is_number ? "integer" : "string"}}}};
}

// Of bytes and texts the schema says no more than their type.
Json content_of(const std::string& media_type) {
    const bool is_json = media_type.starts_with("application/json");
    return {{media_type, {{"schema", is_json ? Json::object() : Json{{"type", "string"}}}}}};
}

Json operation_json(const Route& route, const std::vector<Segment>& segments) {
    Json operation = {{"operationId", operation_id(route)}, {"summary", route.doc}};
    Json parameters = Json::array();
    for (const ParameterDoc& parameter : route.parameters)
        parameters.push_back(parameter_json(parameter, segments));
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (route.body_limit > 0)
        operation["requestBody"] = {{"required", true},
                                    {"description", "at most " + std::to_string(route.body_limit) + " bytes"},
                                    {"content", content_of(route.takes)}};
    Json success = {{"description", route.gives.empty() ? "done" : "the answer"}};
    if (!route.gives.empty()) success["content"] = content_of(route.gives);
    operation["responses"] = {{route.gives.empty() ? "204" : "200", std::move(success)},
                              {"default", {{"$ref", "#/components/responses/Error"}}}};
    // Without a list of schemes a route would have those of the whole interface.
    operation["security"] = route.needs_identity ? Json::array({{{"bearer", Json::array()}}}) : Json::array();
    return operation;
}

Json components() {
    const Json text = {{"type", "string"}};
    const Json text_or_null = {{"type", Json::array({"string", "null"})}};
    const Json error = {
        {"type", "object"},
        {"required", Json::array({"error"})},
        {"properties",
         {{"error",
           {{"type", "object"},
            {"required", Json::array({"status", "message", "hint"})},
            {"properties",
             {{"status", {{"type", "integer"}}}, {"message", text}, {"hint", text_or_null}}}}}}}};
    return {
        {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}},
        {"schemas", {{"Error", error}}},
        {"responses",
         {{"Error",
           {{"description", "why it was not done"},
            {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}}}}}};
}

}  // namespace

std::string operation_id(const Route& route) {
    std::string id = core::lower_case(method_name(route.method));
    const auto segments = parse_pattern(route.pattern);
    if (!segments) return id;
    for (const Segment& segment : *segments) {
        id += '_';
        for (const char c : segment.text) {
            const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            id += is_letter ? c : '_';
        }
    }
    return id;
}

core::Result<std::string> openapi_json(std::span<const Route> routes, const ApiInfo& info) {
    Json paths = Json::object();
    std::set<std::string> ids;
    for (const Route& route : routes) {
        BELAY_TRY(segments, parse_pattern(route.pattern));
        if (!ids.insert(operation_id(route)).second)
            return core::bad_input("two routes would have the operation id {}", operation_id(route));
        const std::string method = core::lower_case(method_name(route.method));
        paths[openapi_path(segments)][method] = operation_json(route, segments);
    }
    Json about = {{"title", info.title}, {"version", info.version}};
    if (!info.description.empty()) about["description"] = info.description;
    const Json document = {
        {"openapi", "3.1.0"}, {"info", about}, {"paths", paths}, {"components", components()}};
    return document.dump(2) + "\n";
}

}  // namespace belay::http
