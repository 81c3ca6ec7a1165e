// What a program prints: in srun, the plan that belay-step makes.
#pragma once

#include <cstddef>

namespace belay::spank {

// The text, ended by NUL, to be freed. Nothing if the program failed, having said why itself or with a
// message here, or if it has printed more than `limit` bytes; `length` is how many it has printed, of success
// only. It may take minutes, but ends, with the program, when this process is sent one of the signals that
// end programs, also where they are blocked: srun blocks them while plugins start, and is killed by them
// later.
char* output_of(const char* program, char** arguments, size_t limit, size_t& length);

}  // namespace belay::spank
