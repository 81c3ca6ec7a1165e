// The verdicts of a step in its job record.
#pragma once

#include "core/error.h"
#include "observe/placement.h"
#include "vet/verdict.h"

#include <filesystem>
#include <string>

namespace belay::step {

// For the manifest: {"protocol","verdict","vetted":[…],"cordoned":[…]}.
std::string vetting_summary(const vet::Verdicts& verdicts);

// Writes the rows of this node's checks as a segment of its own. Errors: kSystem.
core::Result<> write_vetting_rows(const std::filesystem::path& record, const vet::Verdicts& verdicts,
                                  const observe::Placement& placement, core::Time now);

}  // namespace belay::step
