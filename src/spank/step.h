// belay-step: what the plugin starts, as the user. wire.h shows when.
#pragma once

#include <string>
#include <vector>

namespace belay::spank {

// The job's variables that were hidden from the loader get their names back (kLoaderPrefix).
void show_hidden_variables();

// Exit status. `words` are without the program's name; what is wrong is said on stderr.
int prepare(const std::vector<std::string>& words);
int node(const std::vector<std::string>& words);
int supervise(const std::vector<std::string>& words);

}  // namespace belay::spank
