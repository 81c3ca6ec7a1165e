// The annotations that Belay knows: hooks and what other tools' files say, as a table.
#pragma once

#include "env/definition.h"

namespace belay::env {

// Reports wrong values (E_ANNOTATION), names that nothing reads (W_UNKNOWN) and what is not built yet
// (W_UNSUPPORTED). Keys of others than com.hooks and com.pyxis are left alone.
void check_annotations(const std::map<std::string, WrittenText>& annotations, Problems& problems);

}  // namespace belay::env
