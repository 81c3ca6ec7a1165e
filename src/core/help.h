// The text of --help.
#pragma once

#include "core/command_model.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

// Fits a terminal of 80 columns, ends with a newline.
std::string render_help(const CommandModel& command);

// The meaning of an option with its choices and default: "time between two samples (default 1s)".
std::string describe(const OptionModel& option);

// Breaks `text` at blanks into lines of at most `width` characters; a longer word gets a line of its own.
// Paragraphs, apart by blank lines, stay apart by an empty line.
std::vector<std::string> wrap(std::string_view text, size_t width);

}  // namespace belay::core
