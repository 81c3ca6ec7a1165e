// Rows of text for a terminal, in aligned columns.
#pragma once

#include "core/terminal.h"

#include <string>
#include <vector>

namespace belay::cli {

// One line per row, columns two blanks apart, the header underlined; columns of numbers are set to the right.
// Widths count UTF-8 characters;
// control characters are shown as core::printable() does. Where a row is longer than `columns`, by default
// those of the terminal to which standard output goes, the last column is wrapped if it is text.
std::string render_table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows,
                         size_t columns = core::terminal_columns(1));

}  // namespace belay::cli
