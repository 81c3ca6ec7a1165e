// Findings in a report: what the rules found, handed in by the face.
#pragma once

#include "findings/finding.h"
#include "report/model.h"

namespace belay::report {

// Sets `model.findings`, which come in order of importance, with a key figure and a sentence; both stand
// first where one is critical.
void add_findings(ReportModel& model, findings::Report found);

Tone severity_tone(findings::Severity severity);

// How the job ended, and how many findings are critical: what ended well with one is not good.
struct State {
    std::string text;  // "failed, exit status 3", "completed, 2 critical findings"
    Tone tone = Tone::kNeutral;
};
State job_state(const ReportModel& model);
size_t critical_findings(const ReportModel& model);

// "0:33:00 to 1:00:00 · nid001002 · confidence low", in time since `start`.
std::string finding_place(const findings::Finding& finding, core::Time start);

// "share 12 %, rate 3.00 MB/s"
std::string evidence_text(const findings::Finding& finding, std::string_view between);
// The lines of what a program printed, which is not in that.
std::vector<std::string_view> quoted_lines(const findings::Finding& finding);

}  // namespace belay::report
