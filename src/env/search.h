// Which file a name of an environment means.
#pragma once

#include "env/host.h"
#include "env/problem.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace belay::env {

// A path ("/…", "./…", "../…" or "….toml") is itself; a name is NAME.toml in the first of the directories
// that has it: those of $EDF_PATH (colons between them) or else ~/.edf, then the system's. What is not found,
// and what in $EDF_PATH is not an absolute path, is reported at `place`.
std::optional<std::filesystem::path> find_environment(std::string_view name, const Host& host,
                                                      const Place& place, Problems& problems);

}  // namespace belay::env
