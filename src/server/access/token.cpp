#include "server/access/token.h"

#include "core/text.h"
#include "server/access/base64url.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/random.h>

namespace belay::server {

using core::Result;

namespace {

constexpr std::string_view kBeginning = "belay_";
constexpr size_t kIdBytes = 8, kSecretBytes = 32;
constexpr size_t kIdLetters = 2 * kIdBytes;

Result<std::string> random_bytes(size_t count) {
    std::string bytes(count, '\0');
    const ssize_t got = getrandom(bytes.data(), count, 0);  // whole, for so few
    if (got != static_cast<ssize_t>(count))
        return core::errno_error(got < 0 ? errno : EIO, "cannot get random bytes");
    return bytes;
}

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (char byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return text;
}

}  // namespace

Result<Token> make_token() {
    BELAY_TRY(id, random_bytes(kIdBytes));
    BELAY_TRY(secret, random_bytes(kSecretBytes));
    return Token{.id = hexadecimal(id), .secret = base64url_encode(secret)};
}

std::optional<Token> parse_token(std::string_view text) {
    if (!text.starts_with(kBeginning)) return std::nullopt;
    text.remove_prefix(kBeginning.size());
    if (text.size() <= kIdLetters || text[kIdLetters] != '_') return std::nullopt;
    const std::string_view id = text.substr(0, kIdLetters), secret = text.substr(kIdLetters + 1);
    const bool has_digits =
        std::ranges::all_of(id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    const auto bytes = base64url_decode(secret);
    if (!has_digits || !bytes || bytes->size() != kSecretBytes) return std::nullopt;
    return Token{.id = std::string(id), .secret = std::string(secret)};
}

bool is_token_of(const Token& token, std::string_view digest) {
    return core::same_digest(token.digest(), digest);
}

std::optional<std::string_view> bearer_of(std::string_view authorization) {
    constexpr std::string_view kScheme = "bearer";
    const size_t space = authorization.find(' ');
    if (space != kScheme.size()) return std::nullopt;
    for (size_t i = 0; i < space; ++i)
        if ((authorization[i] | 0x20) != kScheme[i]) return std::nullopt;
    const size_t begin = authorization.find_first_not_of(' ', space);
    if (begin == std::string_view::npos) return std::nullopt;
    const std::string_view token = authorization.substr(begin);
    return token.find(' ') == std::string_view::npos ? std::optional(token) : std::nullopt;
}

}  // namespace belay::server
