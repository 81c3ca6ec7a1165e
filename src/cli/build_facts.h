// What this program was built from; written by build_facts.cmake.
#pragma once

#include <string_view>

namespace belay::cli {

extern const std::string_view kVersion;   // "0.1.0"
extern const std::string_view kCommit;    // of git, "unknown" outside of it
extern const std::string_view kCompiler;  // "GNU 12.2.0"

}  // namespace belay::cli
