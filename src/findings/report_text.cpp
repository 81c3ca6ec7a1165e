#include "findings/report_text.h"

#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "findings/value_text.h"
#include "record/archive/value_json.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::findings {

using Json = nlohmann::ordered_json;

namespace {

constexpr size_t kFewNames = 4;  // of nodes or devices that a line shows

Json evidence_json(const std::vector<Evidence>& evidence) {
    Json out = Json::object();
    for (const Evidence& piece : evidence) out[piece.name] = record::to_json(piece.value);
    return out;
}

Json units_json(const std::vector<Evidence>& evidence) {
    Json out = Json::object();
    for (const Evidence& piece : evidence) out[piece.name] = piece.unit;
    return out;
}

Json entities_json(const Finding& finding) {
    Json out = Json::array();
    for (const Entity& entity : finding.entities)
        out.push_back({{"node", entity.node.empty() ? Json() : Json(entity.node)},
                       {"device", entity.device.empty() ? Json() : Json(entity.device)},
                       {"evidence", evidence_json(entity.evidence)}});
    return out;
}

std::string names_text(const std::vector<std::string>& names) {
    std::vector<std::string> shown(names.begin(),
                                   names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kFewNames)));
    std::string text = core::join(shown, ", ");
    if (names.size() > kFewNames) text += fmt::format(" and {} more", names.size() - kFewNames);
    return text;
}

std::string in_one_line(std::string_view text) {
    std::string line(core::trim(text));
    std::ranges::replace(line, '\n', ' ');
    return line;
}

std::string since(core::Time time, const Report& report) {
    return core::format_duration(std::max(time - report.start, core::Duration(0)));
}

// What a record, a program or a file of rules said reaches a terminal only as printable().
std::string finding_text(const Finding& finding, const Report& report) {
    std::string text = fmt::format("{}: {} ({})\n", severity_name(finding.severity),
                                   core::printable(finding.title), finding.id);
    if (!finding.summary.empty()) text += fmt::format("    {}\n", core::printable(finding.summary));
    std::string where = fmt::format("{} to {}", since(finding.start, report), since(finding.end, report));
    if (!finding.nodes.empty()) where += "; " + core::printable(names_text(finding.nodes));
    if (!finding.devices.empty()) where += "; " + core::printable(names_text(finding.devices));
    text += fmt::format("    {}; confidence {}{}\n", where, finding.is_sure ? "high" : "low",
                        finding.doubt.empty() ? "" : " (" + finding.doubt + ")");
    std::vector<std::string> pieces;
    std::string quoted;
    for (const Evidence& piece : finding.evidence) {
        const auto lines = quoted_lines(piece.value);
        for (std::string_view line : lines) quoted += fmt::format("    | {}\n", core::printable(line));
        if (lines.empty() && !std::holds_alternative<std::monostate>(piece.value))
            pieces.push_back(fmt::format("{} {}", core::printable(piece.name),
                                         core::printable(value_text(piece.value, piece.unit))));
    }
    if (!pieces.empty()) text += fmt::format("    {}\n", core::join(pieces, "; "));
    text += quoted;
    if (!finding.caused_by.empty())
        text += fmt::format("    a consequence of {}\n", core::join(finding.caused_by, ", "));
    return text + fmt::format("    > {}\n", core::printable(in_one_line(finding.advice)));
}

}  // namespace

Json to_json(const Finding& finding) {
    return {{"id", finding.id},
            {"severity", severity_name(finding.severity)},
            {"title", finding.title},
            {"summary", finding.summary},
            {"start", core::format_time(finding.start)},
            {"end", core::format_time(finding.end)},
            {"nodes", finding.nodes},
            {"devices", finding.devices},
            {"confidence", finding.is_sure ? "high" : "low"},
            {"doubt", finding.doubt},
            {"caused_by", finding.caused_by},
            {"evidence", evidence_json(finding.evidence)},
            {"evidence_units", units_json(finding.evidence)},
            {"entities", entities_json(finding)},
            {"entity_count", finding.entity_count},
            {"advice", finding.advice},
            {"references", finding.references},
            {"shown_in", finding.shown_in}};
}

Json to_json(const Report& report) {
    Json skipped = Json::array();
    for (const Skipped& rule : report.skipped) skipped.push_back({{"id", rule.id}, {"why", rule.why}});
    Json findings = Json::array();
    for (const Finding& finding : report.findings) findings.push_back(to_json(finding));
    Json problems = Json::array();
    for (const core::Error& problem : report.problems) problems.push_back(problem.message());
    return {{"evaluated", report.evaluated},
            {"skipped", std::move(skipped)},
            {"findings", std::move(findings)},
            {"problems", std::move(problems)},
            {"start", core::format_time(report.start)},
            {"end", core::format_time(report.end)},
            {"start_up_seconds", report.start_up_seconds}};
}

Json rules_json(std::span<const Rule> rules) {
    Json out = Json::array();
    for (const Rule& rule : rules) {
        Json thresholds = Json::object();
        for (const Threshold& threshold : rule.thresholds)
            thresholds[threshold.name] = {
                {"value", threshold.value}, {"unit", threshold.unit}, {"doc", threshold.doc}};
        out.push_back({{"id", rule.id},
                       {"title", rule.title},
                       {"severity", severity_name(rule.severity)},
                       {"applies_when", guards_text(rule)},
                       {"source", rule.source},
                       {"thresholds", std::move(thresholds)},
                       {"explains", rule.explains},
                       {"references", rule.references},
                       {"advice", rule.advice}});
    }
    return out;
}

std::string skipped_text(const std::vector<Skipped>& skipped) {
    std::vector<std::pair<std::string, size_t>> groups;
    for (const Skipped& rule : skipped) {
        auto group = std::ranges::find(groups, rule.lacks, &std::pair<std::string, size_t>::first);
        if (group == groups.end()) group = groups.insert(group, {rule.lacks, 0});
        ++group->second;
    }
    std::ranges::stable_sort(groups, [](const auto& a, const auto& b) {
        return std::pair(b.first.empty(), a.second) > std::pair(a.first.empty(), b.second);
    });
    std::vector<std::string> parts;
    for (const auto& [lacks, count] : groups) {
        const std::string_view verb = lacks.empty() ? (count == 1 ? "does not apply" : "do not apply")
                                                    : (count == 1 ? "needs " : "need ");
        parts.push_back(fmt::format("{} {}{}", count, verb, lacks));
    }
    return core::join(parts, ", ");
}

std::string report_text(const Report& report) {
    std::string text;
    for (const Finding& finding : report.findings) text += finding_text(finding, report) + "\n";
    const size_t evaluated = report.evaluated.size(), skipped = report.skipped.size();
    if (report.findings.empty())
        text = evaluated > 0 ? "Nothing was found.\n\n"
                             : "Nothing is known of this job: its record lacks what the rules look at.\n\n";
    text += fmt::format("{} rule{} evaluated", evaluated, evaluated == 1 ? "" : "s");
    if (skipped > 0)
        text += fmt::format(", {} skipped: {} (--json says which)", skipped, skipped_text(report.skipped));
    return text + ".\n";
}

bool is_healthy(const Report& report) {
    return std::ranges::none_of(
        report.findings, [](const Finding& finding) { return finding.severity >= Severity::kWarning; });
}

}  // namespace belay::findings
