// What was done before the tasks started: the environment they ran in, and what vetting found.
#pragma once

#include "record/archive/archive.h"
#include "report/model.h"

namespace belay::report {

// Groups of facts; without facts where the record has none.
FactGroup environment_facts(const record::Manifest& manifest);
// What was brought to the nodes before the tasks started (events data_staged): from where, to which nodes, how long the slowest
// one took. Errors: those of the query.
core::Result<FactGroup> staging_facts(record::Archive& archive);

core::Result<FactGroup> vetting_facts(record::Archive& archive);

// "pass" or "fail"; "" if the step was not vetted.
std::string vetting_verdict(const record::Manifest& manifest);

}  // namespace belay::report
