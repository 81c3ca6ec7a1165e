// Credentials of a receiver of metrics, from a file that nobody else can read.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace belay::metrics::remote {

enum class CredentialKind : uint8_t {
    kBearer,  // the file holds a token
    kBasic,   // the file holds USER:PASSWORD
    kEither,  // kBasic where it has a colon, which a token never has (RFC 6750, 2.1)
};

// The value of the header Authorization. `text` is the file's, with or without a line feed at its end. Errors: kBadInput
// for what is empty, has a character that a header cannot carry, or, for kBasic, no colon; they never quote it.
core::Result<std::string> authorization_of(std::string_view text, CredentialKind kind);

// The same of a file, which must belong to this user or root and be closed to everybody else, as must be every way to put
// another in its place. Errors: kBadInput, kDenied where permissions are too wide; kSystem.
core::Result<std::string> read_authorization(const std::filesystem::path& file, CredentialKind kind);

}  // namespace belay::metrics::remote
