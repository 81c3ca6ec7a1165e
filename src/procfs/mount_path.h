// The same file under the names of two mount namespaces.
#pragma once

#include "procfs/mountinfo.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::procfs {

// What is `path` where `there` is mounted, as one finds it where `here` is mounted: by the file system and
// the place in it. Nothing where that part of the file system is not mounted here. Whether another mount
// hides it is not looked at.
std::optional<std::string> path_here(std::string_view path, std::span<const Mount> there,
                                     std::span<const Mount> here);

}  // namespace belay::procfs
