// Rows of text for a terminal, in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace belay::cli {

// One line per row, columns two blanks apart, the header underlined; columns of numbers are set to the right.
// Widths count UTF-8 characters.
std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace belay::cli
