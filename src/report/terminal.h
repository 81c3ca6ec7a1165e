// The report as text, for a terminal or a log file.
#pragma once

#include "report/model.h"

#include <string>

namespace belay::report {

// At most `width` columns (at least 60). With `colour`, ANSI colours mark what is good or bad; without,
// nothing but text, so that it can go through a pipe. Control characters of the record's texts are shown as
// "?".
std::string render_terminal(const ReportModel& model, bool colour, int width);

}  // namespace belay::report
