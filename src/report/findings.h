// Findings in a report: what the rules found, put into words by the rules' module and handed in by the face.
#pragma once

#include "report/model.h"

namespace belay::report {

// Sets `model.findings`, which come in order of importance, with a key figure and a sentence. Starts and ends
// are seconds since `model.start`.
void add_findings(ReportModel& model, Findings findings);

// "critical" is worse than "warning" is worse than "info".
Tone severity_tone(std::string_view severity);

// "0:33:00 to 1:00:00 · nid001002 · confidence low"
std::string finding_place(const Finding& finding);

}  // namespace belay::report
