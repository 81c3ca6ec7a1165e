#include "server/access/base64url.h"

#include <cstdint>

namespace belay::server {

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int kBitsOfLetter = 6, kBitsOfByte = 8;

}  // namespace

std::string base64url_encode(std::string_view bytes) {
    std::string text;
    uint32_t bits = 0;
    int count = 0;
    for (char byte : bytes) {
        bits = bits << kBitsOfByte | static_cast<uint8_t>(byte);
        for (count += kBitsOfByte; count >= kBitsOfLetter; count -= kBitsOfLetter)
            text += kLetters[bits >> (count - kBitsOfLetter) & 0x3F];
    }
    if (count > 0) text += kLetters[bits << (kBitsOfLetter - count) & 0x3F];
    return text;
}

std::optional<std::string> base64url_decode(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::string bytes;
    uint32_t bits = 0;
    int count = 0;
    for (char letter : text) {
        const size_t value = kLetters.find(letter);
        if (value == std::string_view::npos) return std::nullopt;
        bits = bits << kBitsOfLetter | static_cast<uint32_t>(value);
        count += kBitsOfLetter;
        if (count < kBitsOfByte) continue;
        count -= kBitsOfByte;
        bytes += static_cast<char>(bits >> count & 0xFF);
    }
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return bytes;
}

}  // namespace belay::server
