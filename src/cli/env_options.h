// What the commands on environments have in common.
#pragma once

#include "core/command.h"
#include "env/container/plan.h"
#include "env/environment.h"

namespace belay::cli {

// The caller, with the system's directories of environments from the setting env.search_path.
core::Result<env::Host> environment_host(const core::CommandContext& context);

struct FoundImage {
    std::string file;  // SquashFS
    env::ImageFacts facts;
};

// The image on this machine. Errors: kBadInput if it is not in the store.
core::Result<FoundImage> find_image(const image::Reference& reference, const core::CommandContext& context);

}  // namespace belay::cli
