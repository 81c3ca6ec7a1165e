// A SquashFS file as an image: what enroot leaves in one says what it sets.
#pragma once

#include "image/image.h"

#include <filesystem>
#include <string_view>

namespace belay::image {

// Errors: kBadInput if the file is not there or is not a SquashFS file.
core::Result<Image> local_image(const std::filesystem::path& file);

// The lines NAME=VALUE of /etc/environment, as data: blank lines and comments are left out, a pair of quotes
// around a value is taken off, nothing is expanded.
std::vector<std::string> parse_environment_file(std::string_view text);

// The directory that /etc/rc of enroot changes to, "" if it names none.
std::string working_directory_of_rc(std::string_view text);

}  // namespace belay::image
