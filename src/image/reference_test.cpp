#include "image/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using testing::HasSubstr;

const std::string kHash(64, 'a');
const std::string kDigest = "sha256:" + kHash;

struct Good {
    std::string text;
    Reference expected;
};

// The rows 40 to 46 of the worked examples, then what they leave open.
TEST(image, reference_is_taken_apart) {
    const Good kGood[] = {
        {"ubuntu", {"", "", "docker.io", "library/ubuntu", "latest", ""}},
        {"nvidia/cuda:12", {"", "", "docker.io", "nvidia/cuda", "12", ""}},
        {"nvcr.io#nvidia/x:1", {"", "", "nvcr.io", "nvidia/x", "1", ""}},
        {"nvcr.io/nvidia/x:1", {"", "", "nvcr.io", "nvidia/x", "1", ""}},
        {"localhost:5000/a/b", {"", "", "localhost:5000", "a/b", "latest", ""}},
        {"me@quay.io#a/b:1@" + kDigest, {"", "me", "quay.io", "a/b", "1", kDigest}},
        {"./i.sqsh", {"./i.sqsh", "", "", "", "", ""}},
        {"/i.sqsh", {"/i.sqsh", "", "", "", "", ""}},
        {"../i", {"../i", "", "", "", "", ""}},

        {"docker://ubuntu:24.04", {"", "", "docker.io", "library/ubuntu", "24.04", ""}},
        {"docker://nvcr.io/nvidia/x:1", {"", "", "nvcr.io", "nvidia/x", "1", ""}},
        {"docker.io/ubuntu", {"", "", "docker.io", "library/ubuntu", "latest", ""}},
        {"index.docker.io/a/b", {"", "", "docker.io", "a/b", "latest", ""}},
        {"registry-1.docker.io#ubuntu", {"", "", "docker.io", "library/ubuntu", "latest", ""}},
        {"localhost/a", {"", "", "localhost", "a", "latest", ""}},
        {"REG.Example.org/a:B", {"", "", "reg.example.org", "a", "B", ""}},
        {"inside#a/b", {"", "", "inside", "a/b", "latest", ""}},
        {"[::1]:5000/a", {"", "", "[::1]:5000", "a", "latest", ""}},
        {"$oauthtoken@nvcr.io#nvidia/x:1", {"", "$oauthtoken", "nvcr.io", "nvidia/x", "1", ""}},
        {"me@ubuntu:24", {"", "me", "docker.io", "library/ubuntu", "24", ""}},
        {"me@example.org@quay.io/a", {"", "me@example.org", "quay.io", "a", "latest", ""}},
        {"ubuntu@" + kDigest, {"", "", "docker.io", "library/ubuntu", "", kDigest}},
        {"a__b/c-_d", {}},
        {"a__b/c---d_e.f:_x", {"", "", "docker.io", "a__b/c---d_e.f", "_x", ""}},
        {"docker://i.sqsh", {"", "", "docker.io", "library/i.sqsh", "latest", ""}},
        {"i.sqsh:1", {"", "", "docker.io", "library/i.sqsh", "1", ""}},
    };
    for (const Good& row : kGood) {
        auto reference = parse_reference(row.text);
        if (row.expected == Reference()) {
            EXPECT_FALSE(reference) << row.text;
            continue;
        }
        ASSERT_TRUE(reference) << row.text << ": " << reference.error().render();
        EXPECT_EQ(*reference, row.expected) << row.text;
        auto again = parse_reference(to_text(*reference));
        ASSERT_TRUE(again) << to_text(*reference) << ": " << again.error().render();
        EXPECT_EQ(*again, *reference) << to_text(*reference);
    }
}

struct Bad {
    std::string text;
    int column;
    std::string message;
    std::string hint;
};

TEST(image, reference_refusals_say_where_and_how) {
    const Bad kBad[] = {
        {"", 1, "empty", "./"},
        {"i.sqsh", 1, "looks like a file", "\"./i.sqsh\""},
        {"images/i.sqsh", 1, "looks like a file", "\"./images/i.sqsh\""},
        {"Ubuntu:24.04", 1, "\"Ubuntu\" has an upper case letter", "write \"ubuntu\""},
        {"nvidia/CUDA/x", 8, "\"CUDA\" has an upper case letter", "write \"cuda\" there"},
        {"a//b", 3, "empty component", "./"},
        {"a/", 3, "empty component", "./"},
        {"quay.io/", 9, "no repository", "./"},
        {"a b", 2, "\"a b\"", "a-z and 0-9"},
        {"a..b", 3, "\"a..b\"", "a-z and 0-9"},
        {"a_", 2, "\"a_\"", "a-z and 0-9"},
        {"a___b", 4, "\"a___b\"", "a-z and 0-9"},
        {"-a", 1, "\"-a\"", "a-z and 0-9"},
        {"~/i.sqsh", 1, "looks like a file", "./"},
        {"~/image", 1, "\"~\" is not expanded", "${HOME}"},
        {"a:", 3, "\"\" is not a tag", "letters, digits"},
        {"a:-x", 3, "\"-x\" is not a tag", "letters, digits"},
        {"a:x y", 4, "\"x y\" is not a tag", "letters, digits"},
        {"a:" + std::string(129, 'x'), 3, "more than 128 bytes", "./"},
        {"oci://a", 1, "\"oci://\"", "docker://"},
        {"http://a/b", 1, "\"http://\"", "docker://"},
        {"a@sha256:12", 3, "\"sha256:12\" is not an image hash", "64 digits"},
        {"a@sha256:" + std::string(64, 'A'), 3, "is not an image hash", "lower case"},
        {"a@sha512:" + std::string(128, 'a'), 3, "kind \"sha512\"", "sha256:HEX"},
        {"a@md5:1234", 3, "kind \"md5\"", "sha256:HEX"},
        {"a@" + kDigest + ":1", 3, "is not an image hash", "64 digits"},
        {"@a", 1, "\"\" is not a user name", "a login"},
        {"m e@a", 2, "\"m e\" is not a user name", "a login"},
        {"quay.io:x/a", 9, "\"quay.io:x\" is not a registry", "HOST:PORT"},
        {"quay.io:99999#a", 9, "is not a registry", "HOST:PORT"},
        {"quay..io/a", 1, "is not a registry", "HOST"},
        {"#a", 1, "\"\" is not a registry", "HOST"},
        {"a.b$c/d", 4, "is not a registry", "HOST"},
        {std::string("a\0b", 3), 2, "NUL", "./"},
    };
    for (const Bad& row : kBad) {
        auto reference = parse_reference(row.text, "env.toml");
        ASSERT_FALSE(reference) << row.text << " is " << to_text(*reference);
        const core::Error& error = reference.error();
        EXPECT_EQ(error.kind(), core::ErrorKind::kBadInput) << row.text;
        EXPECT_THAT(error.message(), HasSubstr(row.message)) << row.text;
        EXPECT_THAT(error.hint_text(), HasSubstr(row.hint)) << row.text;
        EXPECT_THAT(error.hint_text(), HasSubstr("./")) << row.text;
        ASSERT_TRUE(error.position()) << row.text;
        EXPECT_EQ(error.position()->column, row.column) << row.text;
        EXPECT_EQ(error.position()->file, "env.toml");
    }
    EXPECT_FALSE(parse_reference(std::string(kMaxReferenceBytes + 1, 'a')));
    EXPECT_FALSE(parse_reference(std::string(300, 'a')));
}

TEST(image, reference_digest_beats_the_tag) {
    auto reference = parse_reference("a/b:1@" + kDigest);
    ASSERT_TRUE(reference);
    EXPECT_EQ(reference->selector(), kDigest);
    EXPECT_EQ(display_name(*reference), "docker.io/a/b:1@" + kDigest);
    EXPECT_EQ(parse_reference("a/b:1")->selector(), "1");
    EXPECT_EQ(display_name(*parse_reference("me@quay.io#a/b")), "quay.io/a/b:latest");
}

}  // namespace
}  // namespace belay::image
