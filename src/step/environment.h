// Environments with what this site has: its directories of definitions, its image store.
#pragma once

#include "core/config.h"
#include "env/container/plan.h"
#include "env/environment.h"
#include "image/store.h"

#include <functional>
#include <optional>
#include <string>

namespace belay::step {

// The caller, with the directories of the setting env.search_path. Errors: kBadInput for a directory there
// that is not absolute; kSystem.
core::Result<env::Host> environment_host(const core::Configuration& configuration);

// Takes an image that is not in the store yet into it; image_import.h has one.
using Importer = std::function<core::Result<>(const core::Configuration& configuration,
                                              const image::Reference& reference)>;

// An environment, read and planned; what is executed on the nodes.
struct EnvironmentPlan {
    std::string name;
    std::optional<env::ContainerPlan> container;  // nothing: tasks run on the host
    env::VariablePlan variables;
    std::string locked;  // JSON for the job record: the environment as rendered, with the image's digest
    bool operator==(const EnvironmentPlan&) const = default;
};

// How long its files may take to read: definitions and what the image store holds.
inline constexpr core::Duration kPlanningTime = std::chrono::seconds(15);

// Does what reads the files of an environment in a process that may hang. Errors: the function's; kSystem,
// kTimedOut with the file that did not answer within kPlanningTime.
core::Result<std::string> read_in_time(const std::string& name,
                                       const std::function<core::Result<std::string>()>& read);

// An image that is not in the store yet is imported first. Errors: kBadInput with everything that is wrong
// with the definition; what is only odd is appended to `warnings`, as lines; kSystem, kTimedOut with the file
// that did not answer within kPlanningTime (in the importer: files.wait).
core::Result<EnvironmentPlan> plan_environment(const std::string& name,
                                               const core::Configuration& configuration,
                                               const Importer& import, std::string& warnings);

env::VariableChanges variable_changes(const EnvironmentPlan& plan);

// The variables of a task of the environment, from those it would have on the host.
core::Environment task_variables(const EnvironmentPlan& plan, const core::Environment& host);

// What the entrypoint has set, over what the image says.
void add_entry_variables(EnvironmentPlan& plan, const core::Environment& variables);

}  // namespace belay::step
