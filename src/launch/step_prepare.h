// In srun, before the step exists: reads what the options name and plans it.
#pragma once

#include "core/config.h"
#include "launch/step_plan.h"

namespace belay::launch {

struct StepOptions {
    std::optional<std::string> environment;  // name or file
    std::optional<std::string> vetting;      // file of the protocol
    bool recording = false;
    std::optional<core::Duration> interval;  // between samples, instead of the setting
};

// Errors: kBadInput, kSystem; then no step shall start. What is only odd is appended to `warnings`.
core::Result<StepPlan> prepare_step(const StepOptions& options, const core::Configuration& configuration,
                                    std::string& warnings);

// "%j" is the job, "%s" the step, "%r" how often the job was requeued, "%%" a percent sign: as sbatch does
// for its files. Errors: kBadInput for other letters.
core::Result<std::string> expand_record_path(std::string_view pattern, std::string_view job,
                                             std::string_view step, std::string_view restart);

}  // namespace belay::launch
