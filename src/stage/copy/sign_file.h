// What copies brought, as it lies on a disk (brought.h).
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/copy/brought.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belay::stage {

struct SignFile {
    CopySign sign;
    uint64_t device = 0;  // of the file, and so of what was brought beside it
};

// Nothing where there is none. Errors: kBadInput for what is something else, damaged or another user's; kSystem.
core::Result<std::optional<SignFile>> read_sign(const core::Directory& directory, const std::string& name);
core::Result<> write_sign(const core::Directory& directory, const std::string& name, const CopySign& sign);

// Removes an empty directory that has the name by which it was opened, and of those around it that are then empty so many
// that there are `levels` in all; anything else stays. 0: nothing is removed.
void remove_if_empty(const core::Directory& directory, uint32_t levels);

}  // namespace belay::stage
