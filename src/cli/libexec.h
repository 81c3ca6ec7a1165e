// The programs beside `belay`, which are apart because they load libtorch.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <string_view>

namespace belay::cli {

// The path of one: bin/belay and libexec/belay/NAME stand in one tree, wherever that was installed. Errors: kSystem,
// kNotFound where it is not there.
core::Result<std::filesystem::path> libexec_program(std::string_view name);

}  // namespace belay::cli
