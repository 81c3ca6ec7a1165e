// belay stage mount: the image of a packed data set as a directory, by squashfuse, as the user and without
// root.
#pragma once

#include "core/error.h"

#include <filesystem>

namespace belay::stage {

// Serves the image at `target`, an empty directory that exists, by a process that goes on when this one ends.
// Errors: kBadInput where the data are not an image, or the target is not an empty directory; kSystem,
// kNotFound where squashfuse is not installed, with what it said.
core::Result<> mount(const std::filesystem::path& data, const std::filesystem::path& target);

// Errors: kBadInput where nothing is mounted there by FUSE; kSystem, where a program uses it.
core::Result<> unmount(const std::filesystem::path& target);

}  // namespace belay::stage
