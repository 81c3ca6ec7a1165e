// Staging by all ranks of a run: each copies what it needs itself, or, where all need all files, those ranks that copy into the
// same directory share them out.
#pragma once

#include "bench/train/group.h"
#include "bench/train/staging.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::bench {

// Calls `work` on this rank while the others do theirs, however long it takes: until all are done, each of them hears that
// the others are still there. `work` may end early once `stop` is set, which says that another rank's has failed. Errors:
// that of this rank's work; kSystem where another's failed, or a rank was lost.
core::Result<> while_all_are_there(Group& group,
                                   const std::function<core::Result<>(const std::atomic<bool>& stop)>& work);

// As stage_files(), by all ranks of `group`; `needed` says what this rank needs, nothing where all need all files. How much
// all of them copied. Errors: as stage_files(), those of `needed`, kSystem as above.
core::Result<Staged> stage_together(Group& group, const std::filesystem::path& from,
                                    const std::filesystem::path& to,
                                    const std::function<core::Result<std::vector<std::string>>()>& needed);

}  // namespace belay::bench
