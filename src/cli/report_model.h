// The report of a record with what other modules say of it: the score, and what the rules found.
#pragma once

#include "core/command.h"
#include "record/archive/archive.h"
#include "report/model.h"

namespace belay::cli {

// What cannot be scored or diagnosed is left out, with a sentence in the coverage or a message on stderr: a
// report of the rest is better than none. Errors: those of report::build_model.
core::Result<report::ReportModel> whole_report(record::Archive& archive, const core::CommandContext& context);

}  // namespace belay::cli
