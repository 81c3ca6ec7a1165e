#include "server/login/identity_provider.h"

#include "core/fetch/testing/http_server.h"
#include "server/login/testing.h"

#include <cstdint>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace belay::server {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// One provider, and us.
struct Site {
    core::ManualClock clock{kStateTime};
    FakeProvider fake{clock};
    IdentityProvider provider{
        {.issuer = {.name = kIssuerName, .audience = "belay"}, .staff_groups = {"operators"}},
        fake.fetch(),
        clock};

    std::string why(const std::string& token) {
        const auto claims = provider.verify(token);
        return claims ? std::string() : claims.error().message();
    }
};

TEST(server_login, keys_are_fetched_once_and_kept) {
    Site site;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(site.why(site.fake.keys[0].token(site.fake.claims("ann"))), "");
    EXPECT_EQ(site.fake.key_fetches, 1);
    EXPECT_EQ(site.provider.addresses()->token_endpoint, kIssuerName + "/token");
    EXPECT_EQ(site.fake.key_fetches, 1);
}

TEST(server_login, an_unknown_key_fetches_at_most_once_a_minute) {
    Site site;
    EXPECT_EQ(site.why(site.fake.keys[0].token(site.fake.claims("ann"))), "");
    const SigningKey forged("k9");
    for (int i = 0; i < 20; ++i) EXPECT_NE(site.why(forged.token(site.fake.claims("ann"))), "");
    EXPECT_EQ(site.fake.key_fetches, 1) << "the first fetch was less than a minute ago";
    site.clock.advance(minutes(1));
    for (int i = 0; i < 20; ++i) EXPECT_NE(site.why(forged.token(site.fake.claims("ann"))), "");
    EXPECT_EQ(site.fake.key_fetches, 2);
    // A new key is found by the first token that it signs.
    site.clock.advance(minutes(1));
    site.fake.keys.emplace_back("k2");
    EXPECT_EQ(site.why(site.fake.keys[1].token(site.fake.claims("ann"))), "");
    EXPECT_EQ(site.why(site.fake.keys[0].token(site.fake.claims("ann"))), "") << "the old one is still there";
    EXPECT_EQ(site.fake.key_fetches, 3);
    // A token without a key id is tried with all keys and fetches nothing.
    site.clock.advance(minutes(1));
    EXPECT_EQ(site.why(site.fake.keys[1].token(site.fake.claims("ann"), R"({"alg":"EdDSA"})")), "");
    EXPECT_NE(site.why(forged.token(site.fake.claims("ann"), R"({"alg":"EdDSA"})")), "");
    EXPECT_EQ(site.fake.key_fetches, 3);
}

TEST(server_login, a_key_that_was_removed_ends) {
    Site site;
    EXPECT_EQ(site.why(site.fake.keys[0].token(site.fake.claims("ann"))), "");
    const SigningKey old = site.fake.keys[0];
    site.fake.keys = {SigningKey("k2")};
    EXPECT_EQ(site.why(old.token(site.fake.claims("ann"))), "") << "not known yet";
    site.clock.advance(minutes(15));
    EXPECT_NE(site.why(old.token(site.fake.claims("ann"))), "");
    EXPECT_EQ(site.why(site.fake.keys[0].token(site.fake.claims("ann"))), "");
}

TEST(server_login, keys_outlive_a_provider_that_is_down_for_an_hour) {
    Site site;
    const auto token = [&] { return site.fake.keys[0].token(site.fake.claims("ann")); };
    EXPECT_EQ(site.why(token()), "");
    site.fake.is_down = true;
    site.clock.advance(minutes(59));
    EXPECT_EQ(site.why(token()), "");
    site.clock.advance(minutes(1));
    const auto refused = site.provider.verify(token());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kSystem) << "nobody's token is wrong";
    site.fake.is_down = false;
    EXPECT_NE(site.why(token()), "") << "it was asked a moment ago";
    site.clock.advance(minutes(1));
    EXPECT_EQ(site.why(token()), "");
}

TEST(server_login, tricks_with_tokens_are_refused) {
    Site site;
    const SigningKey& key = site.fake.keys[0];
    const nlohmann::json good = site.fake.claims("ann");
    const std::string signed_token = key.token(good);
    EXPECT_EQ(site.why(signed_token), "");
    const auto changed = [&](const char* name, const nlohmann::json& value) {
        nlohmann::json claims = good;
        claims[name] = value;
        return key.token(claims);
    };
    const int64_t now = good.at("iat").get<int64_t>();
    const std::string unsigned_text =
        base64url_encode(R"({"alg":"none"})") + "." + base64url_encode(good.dump());
    // As if the public key were the secret of an HMAC.
    const std::string hmac_text =
        base64url_encode(R"({"alg":"HS256","kid":"k1"})") + "." + base64url_encode(good.dump());
    const core::Sha256Digest hmac = core::hmac_sha256(base64url_decode(key.public_text()).value(), hmac_text);
    std::string other_payload = signed_token;
    other_payload.replace(other_payload.find('.') + 1, signed_token.rfind('.') - signed_token.find('.') - 1,
                          base64url_encode(site.fake.claims("sue").dump()));
    const std::map<std::string, std::string> tricks = {
        {"unsigned", unsigned_text + "."},
        {"unsigned with something", unsigned_text + ".AAAA"},
        {"hmac", hmac_text + "." + base64url_encode(core::bytes_of(hmac))},
        {"another payload", other_payload},
        {"another issuer", changed("iss", "https://evil.example")},
        {"for somebody else", changed("aud", "wiki")},
        {"expired", changed("exp", now - 61)},
        {"from the future", changed("iat", now + 3600)},
        {"for ever", changed("exp", now + 400 * 86400)},
        {"another key's name", SigningKey("k1").token(good)},
        {"a path as key", key.token(good, R"({"alg":"EdDSA","kid":"../../etc/passwd"})")},
        {"its own key",
         SigningKey("k7").token(good, fmt::format(R"({{"alg":"EdDSA","jwk":{}}})", SigningKey("k7").json()))},
        {"an algorithm of another kind", key.token(good, R"({"alg":"RS256","kid":"k1"})")},
        {"crit", key.token(good, R"({"alg":"EdDSA","kid":"k1","crit":["x"]})")},
        {"twice", key.token(good, R"({"alg":"EdDSA","alg":"none","kid":"k1"})")},
        {"nothing", ""},
        {"two parts", "a.b"},
        {"long", std::string(100'000, 'a')},
    };
    for (const auto& [name, token] : tricks) {
        const auto refused = site.provider.verify(token);
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kNegative) << name << refused.error().render();
    }
}

TEST(server_login, the_issuer_of_a_token_is_found) {
    Site site;
    EXPECT_EQ(issuer_named_in(site.fake.keys[0].token(site.fake.claims("ann"))), kIssuerName);
    for (const std::string& text :
         {std::string(), std::string("a.b.c"), std::string("a.e30.c"),
          "a." + base64url_encode(R"({"iss":1})") + ".c",
          "a." + base64url_encode(std::string(100, '[')) + ".c", std::string(20'000, '.')})
        EXPECT_FALSE(issuer_named_in(text)) << text.substr(0, 50);
}

TEST(server_login, a_person_has_a_plain_name_and_is_staff_by_groups) {
    Site site;
    const auto person = [&](const nlohmann::json& more) {
        nlohmann::json claims = site.fake.claims("ann");
        claims.update(more);
        return site.provider.person_in({.all = claims});
    };
    EXPECT_EQ(person(nlohmann::json::object())->user, "ann");
    EXPECT_FALSE(person(nlohmann::json::object())->is_staff);
    EXPECT_TRUE(person({{"groups", {"users", "operators"}}})->is_staff);
    EXPECT_FALSE(person({{"groups", {"users"}}})->is_staff);
    EXPECT_FALSE(person({{"groups", "operators"}})->is_staff) << "a text is no list";
    EXPECT_FALSE(person({{"groups", {1, nullptr}}})->is_staff);
    for (const nlohmann::json& name :
         {nlohmann::json("a b"), nlohmann::json(""), nlohmann::json(7), nlohmann::json(nullptr),
          nlohmann::json("ann\n"), nlohmann::json("\xd0\xb0nn")}) {
        const auto refused = person({{"preferred_username", name}});
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().cause(), core::Cause::kDenied);
    }
}

TEST(server_login, the_web_is_asked_within_bounds) {
    using core::fetch::testing::ServedRequest;
    using core::fetch::testing::ServedResponse;
    core::fetch::testing::HttpServer server([](const ServedRequest& request) -> ServedResponse {
        if (request.target == "/long") return {.body = std::string(20'000, 'x')};
        if (request.target == "/huge") return {.body = std::string(400'000, 'x')};
        if (request.target == "/moved") return {.status = 302, .headers = {{"Location", "/else"}}};
        return {.status = 400, .body = request.method + " " + request.header("content-type")};
    });
    const Fetch fetch = fetch_from_web();
    const auto got_answer = fetch({.url = server.url("/x"), .headers = {{"Content-Type", "a/b"}}});
    ASSERT_TRUE(got_answer) << got_answer.error().render();
    EXPECT_EQ(got_answer->status, 400);
    EXPECT_EQ(got_answer->body, "GET a/b");
    EXPECT_EQ(
        fetch(
            {.method = "POST", .url = server.url("/x"), .headers = {{"Content-Type", "c/d"}}, .body = "a=b"})
            ->body,
        "POST c/d");
    EXPECT_EQ(fetch({.url = server.url("/long")})->body.size(), 20'000U);
    EXPECT_FALSE(fetch({.url = server.url("/huge")}));
    EXPECT_FALSE(fetch({.method = "POST", .url = server.url("/long")})) << "an answer that was cut is none";
    EXPECT_EQ(fetch({.method = "POST", .url = server.url("/moved")})->status, 302)
        << "a code goes nowhere else";
    EXPECT_FALSE(fetch({.method = "POST", .url = "http://id.example.org/token"})) << "nor in the clear";
    EXPECT_FALSE(fetch({.method = "PUT", .url = server.url("/x")}));
}

}  // namespace
}  // namespace belay::server
