#include "core/gmac.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

Sha256Digest key_of_the_test() {
    Sha256Digest key{};
    for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i);
    return key;
}

std::string tag_of(Gmac& gmac, uint64_t number, std::string_view bytes) {
    gmac.begin(number);
    gmac.update(bytes);
    const Gmac::Tag tag = gmac.finish();
    return {tag.data(), tag.size()};
}

// Of the program openssl: mac -cipher AES-256-GCM -macopt hexkey:0001…1f -macopt hexiv:NONCE -in FILE GMAC
TEST(core, gmac_is_that_of_other_programs) {
    Gmac gmac(key_of_the_test());
    EXPECT_EQ(tag_of(gmac, 1, "abc"), "\x30\xCA\x23\x59\xB3\x5C\x85\x4B\xD5\x41\x78\xA0\x45\x56\xA0\x3F");
    EXPECT_EQ(tag_of(gmac, 0x0102030405060708, "abc"),
              "\x49\x9A\x3A\xBA\xB2\xA3\x20\x97\x44\x0C\x76\x57\x95\xE4\x96\x16");
}

TEST(core, gmac_does_not_depend_on_the_pieces) {
    Gmac gmac(key_of_the_test());
    const std::string text = std::string(1000, 'a') + "end";
    const std::string whole = tag_of(gmac, 7, text);
    gmac.begin(7);
    for (size_t at = 0; at < text.size(); at += 17) gmac.update(std::string_view(text).substr(at, 17));
    gmac.update("");
    EXPECT_TRUE(gmac.finishes_as(whole));
    Gmac moved = std::move(gmac);
    EXPECT_EQ(tag_of(moved, 7, text), whole) << "it begins anew";
}

TEST(core, gmac_is_of_key_number_and_bytes) {
    Gmac gmac(key_of_the_test()), other(sha256("another key"));
    const std::string tag = tag_of(gmac, 7, "bytes");
    EXPECT_NE(tag_of(other, 7, "bytes"), tag);
    EXPECT_NE(tag_of(gmac, 8, "bytes"), tag);
    EXPECT_NE(tag_of(gmac, 7, "bytez"), tag);
    EXPECT_NE(tag_of(gmac, 7, ""), tag_of(gmac, 8, ""));
    for (size_t i = 0; i < tag.size(); ++i) {
        std::string changed = tag;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        gmac.begin(7);
        gmac.update("bytes");
        EXPECT_FALSE(gmac.finishes_as(changed)) << i;
    }
    gmac.begin(7);
    EXPECT_FALSE(gmac.finishes_as("short"));
}

}  // namespace
}  // namespace belay::core
