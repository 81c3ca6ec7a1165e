// SHA-256 as images write it, by which everything of an image is known.
#pragma once

#include "core/hash.h"

#include <string>
#include <string_view>

namespace belay::image {

// "sha256:<64 hex>".
std::string digest_text(const core::Sha256Digest& digest);
std::string digest_of(std::string_view bytes);

// The 64 digits of a digest, for names of files.
std::string_view hex_of(std::string_view digest);
// "sha256:1234567890ab": enough to tell blobs apart in a message.
std::string short_digest(std::string_view digest);

}  // namespace belay::image
