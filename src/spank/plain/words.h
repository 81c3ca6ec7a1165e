// The words and variables with which the plugin starts belay-step. Each list is one block with its own texts;
// who needs it soon becomes belay-step or the task, and does not free it. Nothing if memory is short.
#pragma once

#include <cstddef>

namespace belay::spank {

// belay-step VERB NUMBERS… and the job's command line, if it is known; verb and command are borrowed.
char** program_arguments(const char* verb, const int* numbers, size_t count, char** command);

// A copy, with another name for those that the loader would heed, and with the plan if there is one.
char** program_environment(char** variables, const char* plan);

}  // namespace belay::spank
