// belay stage clean: takes away what a copy brought, at the end of a job.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::stage {

struct Cleaned {
    uint64_t files = 0;       // of copies, that were removed
    uint64_t bytes = 0;       // of these
    bool unfinished = false;  // there were parts of a copy that was not finished: removed too
    std::vector<std::string> kept =
        {};  // files of the plan that are not any more as they were copied; the first kMostKept
    uint64_t kept_count = 0;
};
inline constexpr size_t kMostKept = 20;

// Asked once no copy to that place can begin any more: whether what is there stays after all.
using StillWanted = std::function<bool()>;

// Of the directory `destination`, what its plan names (layout.h), as far as it belongs to this user and has
// the size and time that the copy gave it; then directories of the copy that are empty, the destination among
// them. What others put there stays, and the plan with it where any file of the plan was kept. Errors:
// kBadInput where there is no copy, where it is another user's, or being made; kSystem.
core::Result<Cleaned> clean_copy(const std::filesystem::path& destination, const StillWanted& is_wanted = {});

struct CopiedFile {
    std::filesystem::path path;
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
};
// Of a single file: the file itself, as far as it is this user's and as it was copied, and parts of it that
// is not finished. Errors: kSystem.
core::Result<Cleaned> clean_copied_file(const CopiedFile& file, const StillWanted& is_wanted = {});

}  // namespace belay::stage
