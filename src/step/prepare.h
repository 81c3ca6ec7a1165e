// In srun, before the step exists: reads what the options name and plans it.
#pragma once

#include "core/config.h"
#include "step/environment.h"
#include "step/plan.h"

namespace belay::step {

struct StepOptions {
    std::optional<std::string> environment;  // name or file
    std::optional<std::string> vetting;      // file of the protocol
    std::optional<std::string> staging;      // "SRC:DST"
    bool recording = false;
    std::optional<core::Duration> interval;  // between samples, instead of the setting
};

// Errors: kBadInput, kSystem; then no step shall start. What is only odd is appended to `warnings`.
core::Result<StepPlan> prepare_step(const StepOptions& options, const core::Configuration& configuration,
                                    const Importer& import, std::string& warnings);

// "--environment=NAME", "--vet=FILE", "--record[=INTERVAL]", "--stage=SRC:DST". Errors: kBadInput.
core::Result<StepOptions> read_step_options(const std::vector<std::string>& words);

// The plan as the plugin takes it (spank/plain/wire.h): how many seconds the nodes have for it, "r" if the
// step is only recorded, a blank, JSON. Warnings go to stderr. "none" where nothing but a record was asked
// for and there is a mistake in the settings: the step then runs as if it had not been asked for. Errors:
// kBadInput for the words; for the rest as prepare_step().
core::Result<std::string> plan_for_plugin(const std::vector<std::string>& words, const Importer& import);

// "%j" is the job, "%s" the step, "%r" how often the job was requeued, "%%" a percent sign: as sbatch does
// for its files. "%n" is the node, where one is given: a record is of all of them. Errors: kBadInput for
// other letters.
core::Result<std::string> expand_record_path(std::string_view pattern, std::string_view job,
                                             std::string_view step, std::string_view restart,
                                             std::string_view node = {});

}  // namespace belay::step
