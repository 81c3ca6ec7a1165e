#include "env/json.h"

namespace belay::env {

using Json = nlohmann::ordered_json;

namespace {

Json startup_json(const std::vector<ResolvedStartup>& entries) {
    Json json = Json::array();
    for (const ResolvedStartup& entry : entries)
        json.push_back({{"name", entry.name},
                        {"command", entry.command},
                        {"once", entry.once == StartupScope::kNode ? "node" : "task"},
                        {"timeout", core::to_seconds(entry.timeout)},
                        {"on_failure", entry.on_failure == StartupFailure::kAbort ? "abort" : "warn"}});
    return json;
}

// Origins in the shape of what they explain: lists stay lists, tables tables.
Json origin_json(const Environment& environment) {
    Json json = Json::object();
    Json mounts = Json::array();
    for (size_t i = 0; i < environment.mounts.size(); ++i)
        mounts.push_back(environment.origins.at(fmt::format("mounts[{}]", i)));
    for (const auto& [key, origin] : environment.origins) {
        size_t dot = key.find('.');
        if (key.find('[') != std::string::npos) continue;
        if (dot == std::string::npos)
            json[key] = origin;
        else
            json[key.substr(0, dot)][key.substr(dot + 1)] = origin;
    }
    json["mounts"] = std::move(mounts);
    return json;
}

}  // namespace

Json to_json(std::string_view file, bool ok, const Problems& problems) {
    Json list = Json::array();
    for (const Problem& problem : problems) {
        const core::SourcePosition& position = problem.place.position;
        Json json = {{"severity", problem.severity == Severity::kError ? "error" : "warning"},
                     {"code", problem.code},
                     {"file", position.file.empty() ? Json() : Json(position.file)},
                     {"line", position.line > 0 ? Json(position.line) : Json()},
                     {"column", position.line > 0 ? Json(position.column) : Json()},
                     {"message", problem.message},
                     {"hint", problem.hint.empty() ? Json() : Json(problem.hint)}};
        if (problem.failure) json["cause"] = core::cause_name(problem.failure->cause());
        if (problem.place.chain.size() > 1) json["inherited"] = problem.place.chain;
        list.push_back(std::move(json));
    }
    return {{"file", file}, {"ok", ok}, {"problems", std::move(list)}};
}

Json to_json(const Environment& environment, const std::map<std::string, std::string>& variables,
             bool explain) {
    Json mounts = Json::array();
    for (const Mount& mount : environment.mounts) mounts.push_back(mount.text());
    Json json = {{"image", environment.image},
                 {"workdir", environment.workdir},
                 {"entrypoint", environment.entrypoint},
                 {"writable", environment.writable},
                 {"mounts", std::move(mounts)},
                 {"devices", environment.devices},
                 {"env", Json::object()},
                 {"unset", environment.unset},
                 {"annotations", Json::object()},
                 {"startup", startup_json(environment.startup)}};
    for (const auto& [name, value] : variables) json["env"][name] = value;
    for (const auto& [name, value] : environment.annotations) json["annotations"][name] = value;
    if (explain) json["origin"] = origin_json(environment);
    return json;
}

}  // namespace belay::env
