// belay-step: what the plugin starts, as the user. wire.h shows when.
#pragma once

#include <string>
#include <vector>

namespace belay::spank {

// What a command line asks for, without the program's name: "prepare OPTION…", "node NUMBER… COMMAND…" or
// "supervise NUMBER… COMMAND…". What is wrong is said on stderr. The exit status: that of the task of
// supervise, 1 where another node does not let this one start, else as of `belay`.
int run(const std::vector<std::string>& words);

}  // namespace belay::spank
