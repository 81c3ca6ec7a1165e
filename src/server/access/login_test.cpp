#include "server/access/login_flow.h"
#include "server/access/token.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const core::Time kNow = core::time_from_nanoseconds(1'700'000'000'000'000'000);
const Provider kProvider{.issuer = "https://id.example.org",
                         .authorization_endpoint = "https://id.example.org/auth",
                         .token_endpoint = "https://id.example.org/token",
                         .keys_uri = "https://id.example.org/keys"};
const Client kClient{.id = "belay", .redirect_uri = "https://belay.example.org/login/back?x=1"};

TEST(server_access, a_token_is_known_by_its_digest) {
    const Token token = make_token().value(), other = make_token().value();
    const auto read = parse_token(token.text());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, token.id);
    const core::Sha256Digest digest = token.digest();
    EXPECT_TRUE(is_token_of(*read, core::bytes_of(digest)));
    EXPECT_FALSE(is_token_of(other, core::bytes_of(digest)));
    EXPECT_FALSE(is_token_of(*read, ""));
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(make_token()->text()).second);
}

TEST(server_access, what_is_not_a_token_is_none) {
    const std::string good = make_token()->text();
    for (const std::string& text :
         {std::string(), std::string("belay_"), good + "A", good.substr(1), good.substr(0, good.size() - 1),
          "belay_" + good, good + "\n", std::string("belay_00000000000000000_") + std::string(43, 'A'),
          std::string("belay_0000000000000000_") + std::string(42, 'A') + "=",
          std::string("belay_000000000000000G_") + std::string(43, 'A')})
        EXPECT_FALSE(parse_token(text)) << text;
    EXPECT_EQ(bearer_of("Bearer abc"), "abc");
    EXPECT_EQ(bearer_of("bearer  abc"), "abc");
    for (const char* header : {"", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearerabc def"})
        EXPECT_FALSE(bearer_of(header)) << header;
}

TEST(server_access, the_browser_is_sent_with_a_challenge_and_not_with_its_answer) {
    const LoginAttempt attempt = begin_login(kNow).value();
    const std::string url = authorization_url(kProvider, kClient, attempt);
    EXPECT_THAT(url, HasSubstr("https://id.example.org/"
                               "auth?response_type=code&client_id=belay&redirect_uri=https%3A%2F%2Fbelay."
                               "example.org%2Flogin%2Fback%3Fx%3D1"));
    EXPECT_THAT(url, HasSubstr("&state=" + attempt.state));
    EXPECT_THAT(url, HasSubstr("&nonce=" + attempt.nonce));
    EXPECT_THAT(url, HasSubstr("&code_challenge_method=S256"));
    EXPECT_THAT(url, Not(HasSubstr(attempt.verifier)));
    EXPECT_THAT(token_request(kClient, attempt, "c&d"), HasSubstr("&code=c%26d&"));
    EXPECT_THAT(token_request(kClient, attempt, "c"), HasSubstr("&code_verifier=" + attempt.verifier));
}

// RFC 7636, appendix B.
TEST(server_access, the_challenge_is_that_of_the_standard) {
    const LoginAttempt attempt{.verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"};
    EXPECT_THAT(authorization_url(kProvider, kClient, attempt),
                HasSubstr("code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&"));
}

TEST(server_access, who_comes_back_otherwise_is_not_let_in) {
    const LoginAttempt attempt = begin_login(kNow).value();
    const auto code = [&](const std::map<std::string, std::string>& query, core::Time now = kNow) {
        const auto taken = take_code(query, attempt, kProvider, now);
        return taken ? *taken : taken.error().message();
    };
    EXPECT_EQ(code({{"state", attempt.state}, {"code", "c"}}), "c");
    EXPECT_EQ(code({{"state", attempt.state}, {"code", "c"}, {"iss", kProvider.issuer}}), "c");
    EXPECT_THAT(code({{"state", attempt.state + "x"}, {"code", "c"}}), HasSubstr("not begun here"));
    EXPECT_THAT(code({{"code", "c"}}), HasSubstr("not begun here"));
    EXPECT_THAT(code({{"state", attempt.state}}), HasSubstr("no code"));
    EXPECT_THAT(code({{"state", attempt.state}, {"code", "c"}, {"iss", "https://evil.example"}}),
                HasSubstr("another provider"));
    EXPECT_THAT(code({{"state", attempt.state}, {"error", "access_denied\x1b[2J"}}),
                HasSubstr("access_denied"));
    EXPECT_THAT(code({{"state", attempt.state}, {"code", "c"}}, kNow + std::chrono::minutes(10)),
                HasSubstr("ten minutes"));
}

TEST(server_access, a_provider_says_who_it_is) {
    const auto parse = [](const std::string& issuer, const std::string& keys) {
        const auto provider = parse_provider(
            fmt::format(
                R"({{"issuer":"{}","authorization_endpoint":"https://a/b","token_endpoint":"https://a/t","jwks_uri":"{}"}})",
                issuer, keys),
            "https://id.example.org");
        return provider ? "taken" : provider.error().message();
    };
    EXPECT_EQ(parse("https://id.example.org", "https://a/k"), "taken");
    EXPECT_EQ(parse("https://id.example.org", "http://127.0.0.1:8080/k"), "taken") << "on this machine";
    EXPECT_THAT(parse("https://id.example.org/", "https://a/k"), HasSubstr("of the issuer"));
    for (const char* keys :
         {"http://a/k", "file:///etc/passwd", "http://127.0.0.1.evil.example/k", "https://", "https://a/ k"})
        EXPECT_THAT(parse("https://id.example.org", keys), HasSubstr("not an https address")) << keys;
    EXPECT_FALSE(parse_provider("[]", "https://id.example.org"));
    EXPECT_FALSE(id_token_in("{}"));
    EXPECT_EQ(id_token_in(R"({"id_token":"x"})").value(), "x");
}

}  // namespace
}  // namespace belay::server
