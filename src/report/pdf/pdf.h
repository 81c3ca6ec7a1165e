// The report as a PDF: vector plots, text that can be searched and copied, fonts inside.
#pragma once

#include "core/error.h"
#include "report/model.h"

#include <string>

namespace belay::report {

// Title with score and findings, breakdown, GPUs over time, heat maps, distributions, power, the host's
// charts, methods. Parts without data are left out. Errors: kSystem.
core::Result<std::string> render_pdf(const ReportModel& model);

// Two pages for a proposal that asks for resources: the job, its score with bounds, where the time went, how
// even and steady the load was, energy, and how that was measured. Of a job without GPUs: what it used of its
// nodes, on one page where that is enough.
core::Result<std::string> render_proposal(const ReportModel& model);

}  // namespace belay::report
