// A vendor's library, loaded by name.
#pragma once

#include "core/error.h"

#include <string>
#include <vector>

namespace belay::gpu {

// Why dlopen(3) refused the library, which it tells in words only: kNotFound where there is no such file,
// kDenied where it may not be read, kOther where it is there and cannot be loaded. A name without "/" is
// looked for where the loader looks; directories that only its cache knows are left out.
core::Cause cause_of_failed_load(const std::string& file);
// The same in these directories; those that may not be searched are skipped, as the loader does.
core::Cause cause_of_failed_load(const std::string& file, const std::vector<std::string>& directories);

}  // namespace belay::gpu
