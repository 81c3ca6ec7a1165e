// Records that users send: copied as far as they are records, and opened by a process of its own before they are taken.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/records/limited_program.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace belay::server {

struct AdoptLimits {
    size_t files = 20'000;
    uint64_t bytes = uint64_t{64} << 30;  // of all files together
};

// Copies the files of a record into `to`, which exists and is empty: record.json, and what lies in its directories of segments,
// tables and annexes. Anything else is left out. All is on the disk afterwards. Errors: kBadInput for what is no record, for links
// and other things in its place, for odd names, and beyond the limits; kSystem.
core::Result<> copy_record(const core::Directory& from, const core::Directory& to, const AdoptLimits& limits);

// Whether it opens: `belay record info`, and, where it is not sealed, `belay record seal`. `path` is absolute, and nobody writes there.
// Errors: kBadInput where it does not, or takes more than the limits; kSystem.
core::Result<> check_record(const std::filesystem::path& path, const std::filesystem::path& belay,
                            const ProgramLimits& limits);

}  // namespace belay::server
