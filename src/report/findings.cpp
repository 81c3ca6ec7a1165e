#include "report/findings.h"

#include "core/text.h"
#include "report/format.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"critical", "warning", "info"};

Tone worst_tone(const std::vector<Finding>& findings) {
    Tone worst = Tone::kNeutral;
    for (const Finding& finding : findings) worst = std::max(worst, severity_tone(finding.severity));
    return worst;
}

KeyFigure findings_figure(const Findings& found) {
    std::string detail;
    for (std::string_view severity : kSeverities) {
        auto count = static_cast<size_t>(std::ranges::count(found.findings, severity, &Finding::severity));
        if (count > 0) detail += fmt::format("{}{} {}", detail.empty() ? "" : ", ", count, severity);
    }
    if (detail.empty()) detail = fmt::format("{} evaluated", format_count(found.evaluated.size(), "rule"));
    return {.label = "Findings",
            .value = fmt::format("{}", found.findings.size()),
            .detail = detail,
            .tone = found.findings.empty() ? Tone::kGood : worst_tone(found.findings),
            .spark = {}};
}

std::string names(std::vector<std::string> all) {
    constexpr size_t kMostNames = 4;
    if (all.size() <= kMostNames) return core::join(all, ", ");
    size_t more = all.size() - kMostNames;
    all.resize(kMostNames);
    return fmt::format("{} and {} more", core::join(all, ", "), more);
}

}  // namespace

Tone severity_tone(std::string_view severity) {
    return severity == "critical" ? Tone::kBad : severity == "warning" ? Tone::kWarning : Tone::kNeutral;
}

std::string finding_place(const Finding& finding) {
    std::string text;
    auto add = [&](std::string_view part) { text += fmt::format("{}{}", text.empty() ? "" : " · ", part); };
    if (!is_missing(finding.start) && !is_missing(finding.end))
        add(fmt::format("{} to {}", format_elapsed(finding.start), format_elapsed(finding.end)));
    if (!finding.nodes.empty()) add(names(finding.nodes));
    if (!finding.devices.empty()) add(names(finding.devices));
    if (!finding.confidence.empty()) add(fmt::format("confidence {}", finding.confidence));
    return text;
}

void add_findings(ReportModel& model, Findings findings) {
    auto place = std::min<std::ptrdiff_t>(model.gpu ? 1 : 0, std::ssize(model.figures));
    model.figures.insert(model.figures.begin() + place, findings_figure(findings));
    if (!findings.findings.empty()) {
        const std::string& title = findings.findings.front().title;
        std::string more =
            findings.findings.size() > 1
                ? fmt::format(" (and {})", format_count(findings.findings.size() - 1, "more finding"))
                : std::string();
        model.summary.push_back(fmt::format("Most important: {}{}.", title, more));
    }
    model.findings = std::move(findings);
}

}  // namespace belay::report
