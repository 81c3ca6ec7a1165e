// Files that a command writes where its user says: -o FILE.
#pragma once

#include "core/error.h"

#include <filesystem>
#include <string_view>

namespace belay::core {

// The file appears as a whole, in the place of one that was there. Others may be able to write to its
// directory (/tmp): a link at its name is not followed, nor another user's at the name of the directory, and
// nothing is written into a pipe, a socket or a device there.
// What the user names as one is written to: /dev/stdout and its like, /dev/fd/N (which shells make of
// >(COMMAND)) and devices in /dev. Errors: kBadInput for what is not to be written to; kSystem.
// `mode`: of a new file.
Result<> write_output(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// What write_output() would refuse as things stand, for a command that works long before it writes. Errors:
// as there.
Result<> check_output(const std::filesystem::path& path);

}  // namespace belay::core
