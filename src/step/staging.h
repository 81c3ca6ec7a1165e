// srun --stage: data brought to each node of the step before its tasks start.
#pragma once

#include "core/config.h"
#include "core/error.h"
#include "observe/placement.h"
#include "stage/copy/copy.h"
#include "stage/copy/job_copies.h"
#include "step/plan.h"
#include "vet/step.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::step {

// "SRC:DST"; SRC as srun sees it, DST on each node, absolute, with %j, %s and %r as in record.directory, and
// %n for the node. Errors: kBadInput.
core::Result<StagingPlan> plan_staging(std::string_view words, const core::Configuration& configuration);

// This node's part, which goes when the job ends. Errors: as stage::copy_in_step().
core::Result<stage::CopyReport> stage_data(const StagingPlan& plan, const std::string& destination,
                                           const vet::StepContext& members, const stage::JobOnNode& where);

// A row of events that says how long it took.
core::Result<> write_staging_row(const std::filesystem::path& record, const StagingPlan& plan,
                                 const stage::CopyReport& report, const observe::Placement& placement,
                                 core::Time now);

}  // namespace belay::step
