// The directory beside the files of a copy in which it is made: .belay-copy-TAG-DIGEST, TAG from the name of
// a single file, DIGEST from the plan, 8 and 16 hexadecimal digits.
#pragma once

#include "core/deadline.h"
#include "core/directory.h"
#include "core/error.h"
#include "core/hash.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::stage {

// `target` is the name of the single file; empty for a directory.
std::string work_name(std::string_view target, const core::Sha256Digest& plan);
// Of any plan for that target.
bool is_work_name(std::string_view name, std::string_view target);

// Held by this process alone until the directory is closed; made where it is not there, if `make`. Nothing
// where it is not there. Errors: kBadInput where another process holds it until the deadline, or it is
// another user's; kSystem.
core::Result<std::optional<core::Directory>> lock_work(const core::Directory& parent, const std::string& name,
                                                       bool make,
                                                       core::Deadline deadline = core::Deadline::after({}));

// With all that is in it. Errors: as lock_work().
core::Result<> remove_work(const core::Directory& parent, const std::string& name);
// Of one that this process holds.
core::Result<> remove_held_work(const core::Directory& parent, const std::string& name,
                                const core::Directory& work);

}  // namespace belay::stage
