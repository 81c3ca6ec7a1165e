// belay-step's answer to the tasks of its node (wire.h).
#pragma once

#include "core/process.h"
#include "step/node.h"

#include <string>

namespace belay::spank {

// What a task shall do. In a container MASTER_ADDR is `root_address`, unless the environment, the image or
// the user has set it.
std::string instructions(const step::StepPlan& plan, const std::string& root_address);

// One packet per task. Errors: kSystem.
core::Result<> answer_go(int link, unsigned tasks, const std::string& instructions,
                         const step::PreparedNode& node);
void answer_refuse(int link, unsigned tasks);

}  // namespace belay::spank
