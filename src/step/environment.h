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

struct FoundImage {
    std::string file;    // SquashFS
    std::string digest;  // of the manifest; empty for a file that came from no registry
    env::ImageFacts facts;
};

// Takes an image that is not in the store yet into it; image_import.h has one.
using Importer =
    std::function<core::Result<image::Image>(const image::Store& store, const image::Reference& reference)>;

// The image on this machine; one that is not in the store yet is imported first. Errors: kBadInput, kSystem.
core::Result<FoundImage> find_image(const image::Reference& reference,
                                    const core::Configuration& configuration, const Importer& import);

// An environment, read and planned; what is executed on the nodes.
struct EnvironmentPlan {
    std::string name;
    std::optional<env::ContainerPlan> container;  // nothing: tasks run on the host
    env::VariablePlan variables;
    std::string locked;  // JSON for the job record: the environment as rendered, with the image's digest
    bool operator==(const EnvironmentPlan&) const = default;
};

// Errors: kBadInput with everything that is wrong with the definition; what is only odd is appended to
// `warnings`.
core::Result<EnvironmentPlan> plan_environment(const std::string& name,
                                               const core::Configuration& configuration,
                                               const Importer& import, env::Problems& warnings);

env::VariableChanges variable_changes(const EnvironmentPlan& plan);

// The variables of a task of the environment, from those it would have on the host.
core::Environment task_variables(const EnvironmentPlan& plan, const core::Environment& host);

// What the entrypoint has set, over what the image says.
void add_entry_variables(EnvironmentPlan& plan, const core::Environment& variables);

}  // namespace belay::step
