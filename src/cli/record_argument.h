// The record that a command is asked about: a directory, or the number of a job.
#pragma once

#include "core/command.h"

#include <filesystem>
#include <string>

namespace belay::cli {

inline constexpr const char* kRecordArgument =
    "directory of the record, or the number of its job (4711, or 4711.0 for one of its steps)";

// `argument` itself, but where it is a number, or two with a point between them, and nothing has that name:
// the record of that job, or of that step of it, beneath the current directory or where the setting
// record.directory says. Errors: kBadInput if it has none there, or more than one; kSystem.
core::Result<std::filesystem::path> find_record(const core::CommandContext& context,
                                                const std::string& argument);

}  // namespace belay::cli
