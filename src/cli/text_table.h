// Rows of text for a terminal, in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace belay::cli {

// One line per row, columns two blanks apart, the header underlined; columns of numbers are set to the right.
// Widths count UTF-8 characters;
// control characters are shown as core::printable() does.
std::string render_table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows);

}  // namespace belay::cli
