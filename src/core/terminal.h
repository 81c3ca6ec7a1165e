// What a terminal can show.
#pragma once

#include <cstddef>
#include <limits>

namespace belay::core {

// Whether text may be coloured there: it is a terminal that does not call itself dumb (TERM), and nobody
// asked for none (NO_COLOR; no-color.org).
bool shows_colour(int fd);

// How many columns it has; `otherwise` of what is not a terminal, or does not say.
size_t terminal_columns(int fd, size_t otherwise = std::numeric_limits<size_t>::max());

}  // namespace belay::core
