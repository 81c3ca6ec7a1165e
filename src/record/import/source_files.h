// The files of a recording, as they are found. What cannot be looked at is an error, never taken for missing.
#pragma once

#include "core/error.h"

#include <expected>
#include <filesystem>
#include <vector>

namespace belay::record {

struct SourceEntry {
    std::filesystem::path path;
    std::filesystem::file_type type = {};  // of what a link leads to
    bool is_file() const { return type == std::filesystem::file_type::regular; }
    bool is_directory() const { return type == std::filesystem::file_type::directory; }
};

// Errors: kBadInput where there is nothing of that name; kSystem.
core::Result<SourceEntry> look_at_source(const std::filesystem::path& path);

// Whether the machine was in the way, and not what the file holds: that is a defect of the recording, this is
// none.
template <typename T>
bool was_not_read(const core::Result<T>& file) {
    return !file && file.error().kind() == core::ErrorKind::kSystem;
}
// The error of such a file, with what to do.
std::unexpected<core::Error> unread(core::Error error);

// What is in a directory, by name. Errors: kSystem.
core::Result<std::vector<SourceEntry>> entries_of(const std::filesystem::path& directory);

}  // namespace belay::record
