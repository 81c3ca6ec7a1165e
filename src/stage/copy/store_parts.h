// The parts of a store: names, and what its files have in common.
#pragma once

#include "core/error.h"
#include "stage/copy/layout.h"

#include <string>
#include <string_view>

namespace belay::stage {

inline constexpr std::string_view kStateName = "state";
inline constexpr std::string_view kPlanName = "plan";
inline constexpr std::string_view kBroughtName = "brought";

// Who may read the source is not known on a node: a copy is for its owner alone.
inline unsigned part_mode(const SourceFile& file) {
    return file.executable ? 0700 : 0600;
}
inline constexpr unsigned kDirectoryMode = 0700;

inline core::Failure something_else(const std::string& path) {
    return core::bad_input(
               "{} is there already, and is something else than what is copied: its size, its time of change "
               "or its content "
               "differs",
               path)
        .hint("name another destination, or remove it");
}

}  // namespace belay::stage
