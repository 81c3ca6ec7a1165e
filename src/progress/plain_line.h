// What launchers and terminals put around the text that a program printed.
#pragma once

#include <string>
#include <string_view>

namespace belay::progress {

// Without escape sequences (ECMA-48: colours, cursor movements, titles) and other control characters but
// tabs.
std::string without_escapes(std::string_view line);

// Bytes of the labels at the start: "0: " and " 12: " of srun --label, "[rank3]:" and "[default3]:" of
// torchrun.
size_t label_length(std::string_view line);

}  // namespace belay::progress
