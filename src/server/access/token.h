// Tokens that belayd makes itself: for programs, for the command line, and as one-time links. Pure but for randomness.
//
// "belay_ID_SECRET": the id finds the row in the database, of the secret only the SHA-256 is kept. Secret scanners know it by its
// beginning.
#pragma once

#include "core/error.h"
#include "core/hash.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

struct Token {
    std::string id;      // 16 hexadecimal digits
    std::string secret;  // 43 letters of base64url: 256 bits

    std::string text() const { return "belay_" + id + "_" + secret; }
    core::Sha256Digest digest() const { return core::sha256(secret); }
};

// Errors: kSystem, where the kernel gives no randomness.
core::Result<Token> make_token();
// Nothing for anything that make_token() would not make.
std::optional<Token> parse_token(std::string_view text);
// Whether it is the one of which `digest` was kept; takes the same time wherever they differ.
bool is_token_of(const Token& token, std::string_view digest);

// What an Authorization header brings: "Bearer TOKEN", the scheme in any case (RFC 9110). Nothing for others.
std::optional<std::string_view> bearer_of(std::string_view authorization);

}  // namespace belay::server
