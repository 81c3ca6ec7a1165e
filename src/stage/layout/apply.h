// Where a layout is to be set: whether that can be done there, and doing it.
#pragma once

#include "stage/layout/layout.h"

namespace belay::stage {

struct LayoutTarget {
    std::filesystem::path path;
    std::optional<std::filesystem::path> lfs = {};  // the program
    bool exists = false;
    bool is_lustre = false;  // statfs(2) of it, or of the directory in which it would be, says 0x0BD00BD0
    bool is_directory = false;
    uint64_t file_bytes = 0;            // of a file
    std::optional<uint64_t> osts = {};  // as "lfs osts" lists them
};

// Errors: kSystem where neither `path` nor the directory above it can be looked at.
core::Result<LayoutTarget> look_at_layout_target(const std::filesystem::path& path);

// The lines of "lfs osts" that name an OST which is in use: "0: scratch-OST0000_UUID ACTIVE". Pure.
uint64_t count_osts(std::string_view text);

// Whether the command for this target copies what is there (lfs migrate). Pure.
bool needs_migration(const LayoutTarget& target);
// Why the layout may not be set there; nothing where it may. Pure.
std::optional<std::string> why_not_applied(const LayoutTarget& target);

// Runs the command. Errors: kSystem, with what lfs says.
core::Result<> apply_layout(const LayoutAdvice& advice, const LayoutTarget& target);

}  // namespace belay::stage
