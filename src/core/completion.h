// Shell completion from the model of the command line: the words are in the script, nothing is run while
// typing.
#pragma once

#include "core/command_model.h"

#include <string>

namespace belay::core {

enum class Shell { kBash, kZsh, kFish };

// The script that a shell sources. Commands, options, and values where an option has a few words to choose
// from; else files. Hidden commands are left out.
std::string render_completion(const CommandModel& program, Shell shell);

}  // namespace belay::core
