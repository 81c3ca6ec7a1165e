// An environment with everything it inherits, as one definition.
#pragma once

#include "env/definition.h"
#include "env/host.h"

#include <string_view>

namespace belay::env {

// Edges between files on the longest path; more are refused.
inline constexpr int kDeepestInheritance = 10;

struct Merged {
    Definition definition;           // its `bases` are used up
    std::vector<std::string> files;  // in the order in which they take effect
};

// Reads the file that `name` means and its bases, left to right, each before those that inherit it. A file
// that is reached twice (a diamond) is read once; one that inherits itself is a mistake.
Merged load_merged(std::string_view name, const Host& host, Problems& problems);

// `over` on top of `under`: single values replace, lists append (what is identical keeps its first place),
// tables merge key by key, a startup entry replaces one of its name.
void merge(Definition& under, const Definition& over);

}  // namespace belay::env
