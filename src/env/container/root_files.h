// Files of the container that must know the host.
#pragma once

#include "core/error.h"

#include <filesystem>

namespace belay::env {

// Adds the user and group to etc/passwd and etc/group below `root` where they are missing, with what the host
// knows of them, so that programs can tell who they run as. Links in the image are followed within `root`
// only. An image without these files stays without.
core::Result<> name_user(const std::filesystem::path& root, unsigned user, unsigned group);

// Whether one of the lines "name:password:ID:…" has the number.
bool names_id(std::string_view lines, unsigned id);

}  // namespace belay::env
