// A directory that a person named on the command line.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <filesystem>

namespace belay::stage {

// Errors: kBadInput where it does not exist or is not a directory; kSystem.
core::Result<core::Directory> open_named_directory(const std::filesystem::path& path);

}  // namespace belay::stage
