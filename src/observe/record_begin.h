// Before the first recorder of a step: the record that all of them write into.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "observe/placement.h"

#include <filesystem>
#include <string>
#include <vector>

namespace belay::observe {

struct RecordBegin {
    std::filesystem::path record;
    std::vector<std::string> command;
    core::Duration interval{};
    core::Duration flush{};
    record::Parts parts = {};  // of the manifest
};

// Makes the record, or joins the one that the first task of the step has made. Errors: kBadInput for a
// directory that holds something else; kSystem.
core::Result<> begin_job_record(const RecordBegin& begin, const Placement& placement, core::Time now);

}  // namespace belay::observe
