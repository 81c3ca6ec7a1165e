#include "core/hash.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(core, fnv1a_of_its_authors_examples) {
    EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
    EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
    EXPECT_EQ(fnv1a(std::string_view("\xff\x00\x00\x01", 4)), 0x6961196491cc682dU);
}

TEST(core, sha256_and_hmac_of_the_standards) {
    // FIPS 180-4 examples, RFC 4231 test cases 2 and 6
    EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(core, keys_are_derived_as_in_rfc_5869) {
    // Test case 1 of appendix A, of whose 42 bytes the first 32 are the first block.
    const Sha256Digest extracted =
        hkdf_extract(std::string_view("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c", 13),
                     std::string(22, '\x0b'));
    EXPECT_EQ(to_hex(extracted), "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    EXPECT_EQ(to_hex(hkdf_expand(extracted, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9")),
              "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

TEST(core, sha256_does_not_depend_on_the_pieces_and_begins_anew) {
    Sha256 hash;
    for (int round = 0; round < 2; ++round) {
        for (std::string_view piece : {"a", "", "bc"}) hash.update(piece);
        EXPECT_EQ(hash.finish(), sha256("abc"));
    }
    Sha256 other = std::move(hash);
    other.update("abc");
    EXPECT_EQ(other.finish(), sha256("abc"));
}

TEST(core, digests_are_compared_whole) {
    Sha256Digest digest = sha256("a");
    std::string same(bytes_of(digest)), other = same;
    other.back() = static_cast<char>(other.back() ^ 1);
    EXPECT_TRUE(same_digest(digest, same));
    EXPECT_FALSE(same_digest(digest, other));
    EXPECT_FALSE(same_digest(digest, same.substr(1)));
}

}  // namespace
}  // namespace belay::core
