// A job as a record that its recorders have left, not sealed.
#pragma once

#include "core/error.h"
#include "job.h"
#include "timeline.h"

#include <filesystem>

namespace belay::second_generator {

core::Result<> write_record(const std::filesystem::path& record, const Job& job, const Timeline& timeline);

}  // namespace belay::second_generator
