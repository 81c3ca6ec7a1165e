#include "core/error_codec.h"

#include <cerrno>
#include <random>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

Error sample() {
    return bad_input("unknown key\n\"{}\"", std::string_view("mo\0unt\xff", 7))
        .hint("did you mean \"mounts\"?")
        .at({.file = "env.toml", .line = 5, .column = 12, .line_text = "mount = 1"})
        .because(Cause::kNotFound)
        .error();
}

void expect_same(const Error& a, const Error& b) {
    EXPECT_EQ(a.kind(), b.kind());
    EXPECT_EQ(a.cause(), b.cause());
    EXPECT_EQ(a.errno_value(), b.errno_value());
    EXPECT_EQ(a.message(), b.message());
    EXPECT_EQ(a.hint_text(), b.hint_text());
    EXPECT_EQ(a.render(), b.render()) << "with its place";
}

TEST(core, errors_travel_whole) {
    for (const Error& error : {sample(), errno_error(EDQUOT, "cannot write x").error(),
                               negative("no").error(), Error(ErrorKind::kStoppedEarly, "")}) {
        auto decoded = decode_error(encode_error(error));
        ASSERT_TRUE(decoded);
        expect_same(*decoded, error);
        auto from_hex = error_from_hex(error_to_hex(error));
        ASSERT_TRUE(from_hex);
        expect_same(*from_hex, error);
    }
    EXPECT_EQ(decode_error(encode_error(errno_error(EDQUOT, "x").error()))->cause(), Cause::kNoSpace);
}

TEST(core, errors_have_the_cause_of_their_errno) {
    EXPECT_EQ(errno_error(EACCES, "x").error().cause(), Cause::kDenied);
    EXPECT_EQ(errno_error(ECONNREFUSED, "x").error().cause(), Cause::kUnreachable);
    EXPECT_EQ(errno_error(EINVAL, "x").error().cause(), Cause::kOther);
    EXPECT_EQ(errno_error(EINVAL, "x").error().errno_value(), EINVAL);
    EXPECT_EQ(errno_error(std::make_error_code(std::errc::no_space_on_device), "x").error().cause(),
              Cause::kNoSpace);
    EXPECT_EQ(errno_error(std::error_code(ENOENT, std::system_category()), "x").error().message(),
              "x: No such file or directory");
}

TEST(core, results_travel_as_value_or_error) {
    EXPECT_EQ(decode_result(encode_result(Result<std::string>("e\0x"))).value(), "e");
    EXPECT_EQ(decode_result(encode_result(Result<>())).value(), "");
    auto failed = decode_result(encode_result(Result<>(std::unexpected(sample()))));
    ASSERT_FALSE(failed);
    expect_same(failed.error(), sample());
}

TEST(core, errors_that_were_cut_or_changed_are_errors) {
    const std::string whole = encode_error(sample());
    for (size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_error(std::string_view(whole).substr(0, length))) << length;
    EXPECT_FALSE(decode_error(whole + "x"));
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        std::string changed = whole;
        for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
        if (auto decoded = decode_error(changed)) {  // whatever it is, it can be used
            EXPECT_LE(decoded->render().size(), 8 * kLongestEncodedText);
        }
    }
    const std::string digits = error_to_hex(sample());
    for (std::string_view wrong : {"", "x", "4", "4g", "+1", "42"})
        EXPECT_FALSE(error_from_hex(wrong)) << wrong;
    EXPECT_FALSE(error_from_hex(digits + "0"));
    EXPECT_FALSE(error_from_hex(digits + "00"));
    EXPECT_FALSE(error_from_hex(std::string_view(digits).substr(2)));
    EXPECT_FALSE(decode_result(""));
    EXPECT_FALSE(decode_result("x"));
}

TEST(core, errors_of_a_newer_belay_keep_their_message) {
    std::string encoded = encode_error(sample());
    encoded[4] = '\x7f';  // a cause that is not known here
    auto decoded = decode_error(encoded);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->cause(), Cause::kOther);
    EXPECT_EQ(decoded->message(), sample().message());
}

TEST(core, errors_that_are_too_long_are_cut_on_the_way) {
    Error error = system_error("{}", std::string(100'000, 'x')).error();
    EXPECT_EQ(decode_error(encode_error(error))->message().size(), kLongestEncodedText);
}

}  // namespace
}  // namespace belay::core
