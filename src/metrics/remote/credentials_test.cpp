#include "metrics/remote/credentials.h"

#include "core/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(metrics_remote, credentials_become_a_header) {
    using enum CredentialKind;
    EXPECT_EQ(authorization_of("abc.DEF-123\n", kBearer).value(), "Bearer abc.DEF-123");
    EXPECT_EQ(authorization_of("Aladdin:open sesame", kBasic).value(),
              "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617, 2
    EXPECT_EQ(authorization_of("test:123\xc2\xa3\r\n", kBasic).value(),
              "Basic dGVzdDoxMjPCow==");  // RFC 7617, 2.1
    EXPECT_EQ(authorization_of("a:", kBasic).value(), "Basic YTo=");
    EXPECT_EQ(authorization_of("a:\n", kEither).value(), "Basic YTo=");
    EXPECT_EQ(authorization_of("abc.DEF-123\n", kEither).value(), "Bearer abc.DEF-123");
    EXPECT_FALSE(authorization_of("a b", kEither));
    for (const char* text : {"", "\n", "  ", "a b", "a\nb", "a\r\nX-Other: b", "a\x7f", "\xc3\xa9", "a\tb"})
        EXPECT_FALSE(authorization_of(text, kBearer)) << text;
    for (const char* text : {"", "no colon", "a:b\nc", "a:b\r\nX-Other: c", "a:\x01"})
        EXPECT_FALSE(authorization_of(text, kBasic)) << text;
    EXPECT_FALSE(authorization_of(std::string("a:\0b", 4), kBasic));
    EXPECT_FALSE(authorization_of(std::string(1 << 20, 'a'), kBearer));
    EXPECT_THAT(authorization_of("xy zzy", kBearer).error().render(), Not(HasSubstr("zzy")));
}

struct CredentialFixture {
    core::Result<std::string> read(unsigned mode) {
        EXPECT_TRUE(core::replace_file(file, "token\n", 0600));
        EXPECT_EQ(chmod(file.c_str(), mode), 0);
        return read_authorization(file, CredentialKind::kBearer);
    }
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    std::filesystem::path file = directory.path() / "token";
};

TEST(metrics_remote, a_file_of_credentials_is_closed_to_others) {
    CredentialFixture f;
    EXPECT_EQ(f.read(0600).value(), "Bearer token");
    EXPECT_EQ(f.read(0400).value(), "Bearer token");
    for (unsigned mode : {0644, 0640, 0604, 0620, 0601, 0610}) {
        auto refused = f.read(mode);
        ASSERT_FALSE(refused) << mode;
        EXPECT_EQ(refused.error().cause(), core::Cause::kDenied);
        EXPECT_THAT(refused.error().hint_text(), HasSubstr("chmod 600"));
        EXPECT_THAT(refused.error().message(), HasSubstr(f.file.string()));
    }
}

TEST(metrics_remote, a_file_of_credentials_is_one_that_nobody_else_can_exchange) {
    CredentialFixture f;
    ASSERT_TRUE(f.read(0600));
    ASSERT_EQ(chmod(f.directory.path().c_str(), 0777), 0);
    EXPECT_EQ(read_authorization(f.file, CredentialKind::kBearer).error().cause(), core::Cause::kDenied);
    ASSERT_EQ(chmod(f.directory.path().c_str(), 0700), 0);
    std::filesystem::create_symlink(f.file, f.directory.path() / "link");
    EXPECT_FALSE(read_authorization(f.directory.path() / "link", CredentialKind::kBearer));
    EXPECT_FALSE(read_authorization(f.directory.path(), CredentialKind::kBearer));
    auto missing = read_authorization(f.directory.path() / "none", CredentialKind::kBearer);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().cause(), core::Cause::kNotFound);
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    ASSERT_EQ(chown(f.file.c_str(), 65534, 65534), 0);
    EXPECT_EQ(read_authorization(f.file, CredentialKind::kBearer).error().cause(), core::Cause::kDenied);
}

TEST(metrics_remote, an_error_says_which_file_of_credentials_is_wrong) {
    CredentialFixture f;
    ASSERT_TRUE(core::replace_file(f.file, "two words", 0600));
    EXPECT_THAT(read_authorization(f.file, CredentialKind::kBearer).error().message(),
                HasSubstr(f.file.string()));
    ASSERT_TRUE(core::replace_file(f.file, std::string(1 << 20, 'x'), 0600));
    EXPECT_FALSE(read_authorization(f.file, CredentialKind::kBearer));
}

}  // namespace
}  // namespace belay::metrics::remote
