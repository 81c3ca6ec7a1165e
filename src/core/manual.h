// Manual pages (roff, man macros) from the model of the command line.
#pragma once

#include "core/command_model.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::core {

// "belay record run" -> "belay-record-run", the name of its page in section 1.
std::string manual_name(std::string_view full_name);

// The page of a command of `program`. It carries no date, so that equal sources give equal pages.
std::string render_manual(const CommandModel& program, const CommandModel& command, std::string_view version);

// Writes NAME.1 for the program and each of its commands that is not hidden. Errors: kSystem.
Result<> write_manual(const CommandModel& program, std::string_view version,
                      const std::filesystem::path& directory);

}  // namespace belay::core
