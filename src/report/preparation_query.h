// What was done before the tasks started: the environment they ran in, and what vetting found.
#pragma once

#include "record/archive/archive.h"
#include "report/model.h"

namespace belay::report {

// Groups of facts; without facts where the record has none.
FactGroup environment_facts(const record::Manifest& manifest);
core::Result<FactGroup> vetting_facts(record::Archive& archive);

// "pass" or "fail"; "" if the step was not vetted.
std::string vetting_verdict(const record::Manifest& manifest);

}  // namespace belay::report
