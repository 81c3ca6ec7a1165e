// What a program prints: in srun, the plan that belay-step makes.
#pragma once

#include <cstddef>

namespace belay::spank {

// Ended by NUL, at most `limit` bytes, to be freed; nothing if it failed, having said why itself, or with a
// message here.
char* output_of(const char* program, char** arguments, size_t limit);

}  // namespace belay::spank
