#include "report/findings.h"

#include "core/text.h"
#include "findings/value_text.h"
#include "report/format.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace belay::report {

namespace {

using findings::Finding;
using findings::Severity;

constexpr std::array kSeverities = {Severity::kCritical, Severity::kWarning, Severity::kInfo};

Tone worst_tone(const std::vector<Finding>& findings) {
    Tone worst = Tone::kNeutral;
    for (const Finding& finding : findings) worst = std::max(worst, severity_tone(finding.severity));
    return worst;
}

KeyFigure findings_figure(const findings::Report& found) {
    std::string detail;
    for (Severity severity : kSeverities) {
        auto count = static_cast<size_t>(std::ranges::count(found.findings, severity, &Finding::severity));
        if (count > 0)
            detail +=
                fmt::format("{}{} {}", detail.empty() ? "" : ", ", count, findings::severity_name(severity));
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

Tone severity_tone(Severity severity) {
    switch (severity) {
        case Severity::kCritical:
            return Tone::kBad;
        case Severity::kWarning:
            return Tone::kWarning;
        case Severity::kInfo:
            return Tone::kNeutral;
    }
    return Tone::kNeutral;
}

std::string finding_place(const Finding& finding, core::Time start) {
    std::string text = fmt::format("{} to {}", format_elapsed(core::to_seconds(finding.start - start)),
                                   format_elapsed(core::to_seconds(finding.end - start)));
    if (!finding.nodes.empty()) text += " · " + names(finding.nodes);
    if (!finding.devices.empty()) text += " · " + names(finding.devices);
    return text + (finding.is_sure ? " · confidence high" : " · confidence low");
}

std::string evidence_text(const Finding& finding, std::string_view between) {
    std::string text;
    for (const findings::Evidence& piece : finding.evidence)
        if (findings::quoted_lines(piece.value).empty())
            text += fmt::format("{}{} {}", text.empty() ? "" : between, piece.name,
                                findings::value_text(piece.value, piece.unit));
    return text;
}

std::vector<std::string_view> quoted_lines(const Finding& finding) {
    std::vector<std::string_view> all;
    for (const findings::Evidence& piece : finding.evidence)
        for (std::string_view line : findings::quoted_lines(piece.value)) all.push_back(line);
    return all;
}

size_t critical_findings(const ReportModel& model) {
    if (!model.findings) return 0;
    return static_cast<size_t>(
        std::ranges::count(model.findings->findings, Severity::kCritical, &Finding::severity));
}

State job_state(const ReportModel& model) {
    struct Outcome {
        std::string_view name;
        State state;
    };
    static const std::array<Outcome, 3> kOutcomes = {{{"completed", {"completed", Tone::kGood}},
                                                      {"failed", {"failed", Tone::kBad}},
                                                      {"running", {"running", Tone::kNeutral}}}};
    const Job& job = model.job;
    const auto* known = std::ranges::find(kOutcomes, job.outcome, &Outcome::name);
    State state = known == kOutcomes.end() ? State{"outcome unknown"} : known->state;
    if (job.exit_status && state.tone != Tone::kGood)
        state.text += fmt::format(", exit status {}", *job.exit_status);
    if (const size_t critical = critical_findings(model); critical > 0) {
        state.text += fmt::format(", {}", format_count(critical, "critical finding"));
        state.tone = std::max(state.tone, Tone::kWarning);
    }
    return state;
}

void add_findings(ReportModel& model, findings::Report found) {
    const bool is_critical = worst_tone(found.findings) == Tone::kBad;
    const std::ptrdiff_t score = model.gpu && !is_critical ? 1 : 0;  // stands before it
    model.figures.insert(model.figures.begin() + std::min(score, std::ssize(model.figures)),
                         findings_figure(found));
    if (!found.findings.empty()) {
        const Finding& first = found.findings.front();
        constexpr size_t kShortSummary = 160;
        const bool is_short = !first.summary.empty() && first.summary.size() <= kShortSummary;
        const std::string title = is_short ? fmt::format("{}: {}", first.title, first.summary) : first.title;
        std::string more =
            found.findings.size() > 1
                ? fmt::format(" (and {})", format_count(found.findings.size() - 1, "more finding"))
                : std::string();
        const std::ptrdiff_t last = std::ssize(model.summary);
        const std::ptrdiff_t place = is_critical ? std::min<std::ptrdiff_t>(1, last) : last;
        model.summary.insert(model.summary.begin() + place,
                             fmt::format("Most important: {}{}.", title, more));
    }
    model.findings = std::move(found);
}

}  // namespace belay::report
