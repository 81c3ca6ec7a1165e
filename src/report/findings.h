// Findings in a report: what the rules found, handed in by the face.
#pragma once

#include "findings/finding.h"
#include "report/model.h"

namespace belay::report {

// Sets `model.findings`, which come in order of importance, with a key figure and a sentence.
void add_findings(ReportModel& model, findings::Report found);

Tone severity_tone(findings::Severity severity);

// "0:33:00 to 1:00:00 · nid001002 · confidence low", in time since `start`.
std::string finding_place(const findings::Finding& finding, core::Time start);

// "share 12 %, rate 3.00 MB/s"
std::string evidence_text(const findings::Finding& finding, std::string_view between);
// The lines of what a program printed, which is not in that.
std::vector<std::string_view> quoted_lines(const findings::Finding& finding);

}  // namespace belay::report
