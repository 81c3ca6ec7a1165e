#include "report/preparation_query.h"

#include "core/json.h"
#include "core/text.h"
#include "report/format.h"
#include "slurm/hostlist.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::report {

using core::Result;
using record::as_double;
using record::as_text;
using Json = nlohmann::ordered_json;

namespace {

// A part of the manifest that another module wrote; "" for what is missing or no text.
std::string text_of(const Json& json, const char* key) {
    auto found = json.is_object() ? json.find(key) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string list_of(const Json& json, const char* key) {
    auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end() || !found->is_array()) return "";
    std::vector<std::string> texts;
    for (const Json& item : *found)
        if (item.is_string()) texts.push_back(item.get<std::string>());
    return core::join(texts, ", ");
}

void add(FactGroup& group, std::string name, std::string value) {
    if (!value.empty()) group.facts.push_back({std::move(name), std::move(value)});
}

// Of names with commas between them.
std::string nodes_text(const std::string& names) {
    std::vector<std::string> nodes;
    for (std::string_view node : core::split(names, ',')) nodes.emplace_back(node);
    auto compressed = slurm::compress(nodes);
    return compressed ? *compressed : core::join(nodes, ", ");
}

// The names that format_quantity() gives them.
std::string shown_unit(const std::string& unit) {
    if (unit == "bytes") return "B";
    if (unit == "bytes/s") return "B/s";
    return unit == "ratio" ? "share" : unit;
}

}  // namespace

FactGroup environment_facts(const record::Manifest& manifest) {
    FactGroup group{.title = "Environment", .facts = {}};
    Json json = core::parse_ordered_json(record::part_of(manifest.parts, record::kEnvironmentPart));
    add(group, "Name", text_of(json, "name"));
    add(group, "Image", text_of(json, "image"));
    add(group, "Digest", text_of(json, "digest"));
    add(group, "Working directory", text_of(json, "workdir"));
    add(group, "Mounts", list_of(json, "mounts"));
    return group;
}

Result<FactGroup> staging_facts(record::Archive& archive) {
    FactGroup group{.title = "Staged data", .facts = {}};
    BELAY_TRY(
        answer,
        archive.query("SELECT subject, max(value), string_agg(DISTINCT node, ',' ORDER BY node) FROM event "
                      "WHERE kind = 'data_staged' GROUP BY subject ORDER BY subject"));
    for (const auto& row : answer.rows) {
        add(group, as_text(row[0]),
            fmt::format("on {}, in {}", nodes_text(as_text(row[2])), format_duration(as_double(row[1]))));
    }
    return group;
}

std::string vetting_verdict(const record::Manifest& manifest) {
    return text_of(core::parse_ordered_json(record::part_of(manifest.parts, record::kVettingPart)),
                   "verdict");
}

Result<FactGroup> vetting_facts(record::Archive& archive) {
    FactGroup group{.title = "Vetting", .facts = {}};
    Json json = core::parse_ordered_json(record::part_of(archive.manifest().parts, record::kVettingPart));
    add(group, "Protocol", text_of(json, "protocol"));
    add(group, "Verdict", text_of(json, "verdict"));
    add(group, "Fit", list_of(json, "vetted"));
    add(group, "Not fit", list_of(json, "cordoned"));
    BELAY_TRY(answer, archive.query("SELECT name, status, severity, min(value), max(value), unit, "
                                    "any_value(reason), string_agg(node, ',' ORDER BY node) "
                                    "FROM vetting GROUP BY name, status, severity, unit "
                                    "ORDER BY name, status, unit"));
    for (const auto& row : answer.rows) {
        std::string value = fmt::format("{} on {}", as_text(row[1]), nodes_text(as_text(row[7])));
        if (as_text(row[2]) == "warning") value += " (warning only)";
        double least = as_double(row[3]), most = as_double(row[4]);
        std::string unit = shown_unit(as_text(row[5]));
        std::string from = format_quantity(least, unit), to = format_quantity(most, unit);
        if (!is_missing(least)) value += ": " + (from == to ? from : from + " to " + to);
        if (as_text(row[1]) != "pass" && !as_text(row[6]).empty()) value += "; " + as_text(row[6]);
        const std::string status = as_text(row[1]);
        group.facts.push_back(
            {.name = as_text(row[0]),
             .value = value,
             .is_deviation = status != "pass",
             .refuses = status != "pass" && status != "unsupported" && as_text(row[2]) == "essential"});
    }
    return group;
}

}  // namespace belay::report
