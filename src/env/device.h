// One entry of `devices`: a CDI name "vendor/class=name", or /dev/x[:/dev/y][:rwm].
#pragma once

#include "core/error.h"

#include <string_view>

namespace belay::env {

// Whether it has one of the two forms; what it names is looked for on the node. Errors: kBadInput.
core::Result<> check_device(std::string_view text);

}  // namespace belay::env
