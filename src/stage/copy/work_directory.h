// The directory beside the files of a copy in which it is made: .belay-copy-TAG-DIGEST, TAG from the name of
// a single file, DIGEST from the plan, 8 and 16 hexadecimal digits.
#pragma once

#include "core/deadline.h"
#include "core/directory.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/hash.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::stage {

// `target` is the name of the single file; empty for a directory.
std::string work_name(std::string_view target, const core::Sha256Digest& plan);
// Of any plan for that target.
bool is_work_name(std::string_view name, std::string_view target);

// Of what takes copies away again, while it does.
std::string cleaning_name();

struct HeldWork {
    core::Directory directory;
    core::FileLock lock;
};
// Held by this process alone, on all nodes (core/file_lock.h); made where it is not there, if `make`. Nothing
// where it is not there. Errors: kBadInput where another process holds it until the deadline, or it is
// another user's; kSystem.
core::Result<std::optional<HeldWork>> lock_work(const core::Directory& parent, const std::string& name,
                                                bool make,
                                                const core::Deadline& deadline = core::Deadline::after({}));

// One that this process holds, with all that is in it. Errors: kSystem.
core::Result<> remove_held_work(const core::Directory& parent, const std::string& name,
                                const core::Directory& work);

}  // namespace belay::stage
