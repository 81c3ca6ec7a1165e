// The report as one HTML file: styles, scripts, plotting library and data are inside, nothing is fetched.
#pragma once

#include "report/model.h"

#include <string>

namespace belay::report {

// Text of a model (job name, command, messages) is only ever data: it stands as escaped JSON in the page, the
// scripts set it by textContent, and the page's content security policy allows no other script than those
// written here.
std::string render_html(const ReportModel& model);

}  // namespace belay::report
