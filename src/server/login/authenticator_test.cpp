#include "server/login/authenticator.h"

#include "server/login/testing.h"

#include <cstdint>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string engine_name_of(const ::testing::TestParamInfo<database::Engine>& info) {
    return info.param == database::Engine::kSqlite ? "sqlite" : "postgresql";
}
INSTANTIATE_TEST_SUITE_P(server_login, OnLogin,
                         ::testing::Values(database::Engine::kSqlite, database::Engine::kPostgres),
                         engine_name_of);

TEST_P(OnLogin, a_token_says_who_asks) {
    ASSERT_TRUE(
        replace_accounts(state(), {.accounts = {{"qcd"}}, .members = {{"qcd", "ann", true}}}, soon()));
    const std::string text = token_for({.role = TokenRole::kManager, .user = "ann"});
    const auto caller = check(get_of("/api/v1/jobs", bearing(text)));
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->identity.user, "ann");
    EXPECT_EQ(caller->identity.proof, Proof::kToken);
    EXPECT_FALSE(caller->identity.is_staff);
    EXPECT_THAT(caller->identity.member_of, ElementsAre("qcd"));
    EXPECT_THAT(caller->identity.manages, ElementsAre("qcd"));
    EXPECT_EQ(caller->token, parse_token(text)->id);
    EXPECT_EQ(status(get_of("/", {{"authorization", "bearer " + text}})), 200) << "the scheme in any case";
    const std::string node = token_for({.role = TokenRole::kNode, .user = "*"});
    EXPECT_EQ(check(get_of("/", bearing(node)))->node, "*");
    EXPECT_TRUE(check(get_of("/", bearing(token_for({.role = TokenRole::kStaff, .user = "sue"}))))
                    ->identity.is_staff);
}

TEST_P(OnLogin, all_that_is_not_recognised_is_answered_alike) {
    const std::string good = token_for({.user = "ann"});
    const std::string expiring =
        token_for({.user = "ann", .scope = {.expires = kStateTime + std::chrono::minutes(1)}});
    const std::string revoked = token_for({.user = "ann"});
    ASSERT_TRUE(revoke_token(state(), parse_token(revoked)->id, kStateTime, soon()));
    clock.advance(std::chrono::minutes(1));
    const std::string forged = "belay_" + parse_token(good)->id + "_" + make_token()->secret;
    nlohmann::json expired = fake.claims("ann");
    expired["exp"] = expired.at("exp").get<int64_t>() - 7200;
    const MungeRequest elsewhere{.host = "other", .method = "GET", .path = "/api/v1/jobs"};
    const std::vector<Fields> unknown = {
        {},
        bearing(make_token()->text()),
        bearing(forged),
        bearing(expiring),
        bearing(revoked),
        bearing("x"),
        bearing("a.b.c"),
        bearing(good + "A"),
        bearing(fake.keys[0].token(expired)),
        bearing(SigningKey("k9").token(fake.claims("ann"))),
        {{"authorization", "Basic YTpi"}},
        {{"authorization", good}},
        {{"authorization", "Bearer " + good + " " + good}},
        {{"authorization", "Bearer " + good}, {"authorization", "Bearer " + good}},
        {{"authorization", "Munge " + credential(1000, elsewhere)}},
        {{"authorization", "Munge MUNGE:AwQF:"}},
        {{"authorization", "Munge"}},
        with_cookie(kSessionCookie, good),
        with_cookie(kSessionCookie, make_token()->text()),
        with_cookie(kLoginCookie, good),
    };
    for (size_t i = 0; i < unknown.size(); ++i) {
        const auto refused = check(get_of("/api/v1/jobs", unknown[i]));
        ASSERT_FALSE(refused) << i;
        EXPECT_EQ(refused.error(), not_recognised()) << i;
    }
    EXPECT_EQ(status(get_of("/api/v1/jobs", bearing(good))), 200);
}

TEST_P(OnLogin, a_revocation_elsewhere_counts_within_ten_seconds) {
    const std::string text = token_for({.user = "ann"});
    EXPECT_EQ(status(get_of("/", bearing(text))), 200);
    database::Database other = another();
    ASSERT_TRUE(revoke_token(other, parse_token(text)->id, clock.now(), soon()));
    clock.advance(std::chrono::seconds(10) - std::chrono::nanoseconds(1));
    EXPECT_EQ(status(get_of("/", bearing(text))), 200) << "believed for ten seconds";
    clock.advance(std::chrono::nanoseconds(1));
    EXPECT_EQ(status(get_of("/", bearing(text))), 401);
}

TEST_P(OnLogin, what_is_remembered_of_a_token_needs_its_secret_and_ends_with_it) {
    const std::string text =
        token_for({.user = "ann", .scope = {.expires = kStateTime + std::chrono::seconds(5)}});
    EXPECT_EQ(status(get_of("/", bearing(text))), 200);
    EXPECT_EQ(status(get_of("/", bearing("belay_" + parse_token(text)->id + "_" + make_token()->secret))),
              401);
    clock.advance(std::chrono::seconds(5));
    EXPECT_EQ(status(get_of("/", bearing(text))), 401) << "within the ten seconds";
    const std::string other = token_for({.user = "ann"});
    EXPECT_EQ(status(get_of("/", bearing(other))), 200);
    ASSERT_TRUE(revoke_token(state(), parse_token(other)->id, clock.now(), soon()));
    authenticator().forget(parse_token(other)->id);
    EXPECT_EQ(status(get_of("/", bearing(other))), 401);
}

TEST_P(OnLogin, use_of_a_token_is_noted) {
    const std::string text = token_for({.user = "ann"});
    const auto last = [&] { return got(find_token(state(), parse_token(text)->id, soon()))->last_used; };
    EXPECT_EQ(status(get_of("/", bearing(text))), 200);
    EXPECT_EQ(last(), kStateTime);
    clock.advance(std::chrono::seconds(30));
    EXPECT_EQ(status(get_of("/", bearing(text))), 200);
    EXPECT_EQ(last(), kStateTime);
    clock.advance(std::chrono::seconds(30));
    EXPECT_EQ(status(get_of("/", bearing(text))), 200);
    EXPECT_EQ(last(), kStateTime + std::chrono::minutes(1));
}

TEST_P(OnLogin, who_fails_too_often_waits) {
    options.failures = {.burst = 5, .recovery = std::chrono::seconds(10)};
    start();
    const std::string known = token_for({.user = "ann"}), unknown = token_for({.user = "ann"});
    EXPECT_EQ(status(get_of("/", bearing(known))), 200);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(status(get_of("/", bearing(make_token()->text()))), 401) << i;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(status(get_of("/", bearing(make_token()->text()))), 429);
    EXPECT_EQ(status(get_of("/", bearing(unknown))), 429) << "it is not looked at";
    EXPECT_EQ(status(get_of("/", bearing(known))), 200) << "who is known goes on";
    const MungeRequest asked{.host = kHost, .method = "GET", .path = "/"};
    EXPECT_EQ(status(get_of("/", {{"authorization", "Munge " + credential(1000, asked)}})), 200)
        << "one who guesses tokens keeps nobody's munge out";
    EXPECT_EQ(status(get_of("/")), 401) << "who says nothing costs nothing";
    http::Request elsewhere = get_of("/", bearing(unknown));
    elsewhere.peer = "192.0.2.8";
    EXPECT_EQ(status(elsewhere), 200);
    clock.advance(std::chrono::seconds(10));
    EXPECT_EQ(status(get_of("/", bearing(unknown))), 200);
}

TEST_P(OnLogin, a_provider_says_who_asks) {
    ASSERT_TRUE(
        replace_accounts(state(), {.accounts = {{"qcd"}}, .members = {{"qcd", "ann", false}}}, soon()));
    const std::string text = fake.keys[0].token(fake.claims("ann"));
    const auto caller = check(get_of("/", bearing(text)));
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->identity.user, "ann");
    EXPECT_EQ(caller->identity.proof, Proof::kOidc);
    EXPECT_FALSE(caller->identity.is_staff);
    EXPECT_THAT(caller->identity.member_of, ElementsAre("qcd"));
    EXPECT_EQ(caller->identity.scope.expires, kStateTime + std::chrono::hours(1));
    EXPECT_EQ(status(get_of("/", bearing(text))), 200) << "again: it is no credential of munge";
    EXPECT_TRUE(check(get_of("/", bearing(fake.keys[0].token(fake.claims("sue")))))->identity.is_staff)
        << "by the site's list";
    nlohmann::json claims = fake.claims("tom");
    claims["groups"] = {"operators"};
    EXPECT_TRUE(check(get_of("/", bearing(fake.keys[0].token(claims))))->identity.is_staff);
    clock.advance(std::chrono::hours(2));
    EXPECT_EQ(status(get_of("/", bearing(text))), 401);
}

TEST_P(OnLogin, a_provider_that_is_down_is_not_the_senders_fault) {
    fake.is_down = true;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(status(get_of("/", bearing(fake.keys[0].token(fake.claims("ann"))))), 503);
    fake.is_down = false;
    clock.advance(std::chrono::minutes(1));
    EXPECT_EQ(status(get_of("/", bearing(fake.keys[0].token(fake.claims("ann"))))), 200);
}

TEST_P(OnLogin, munge_says_who_asks_once) {
    const MungeRequest asked{.host = kHost, .method = "GET", .path = "/api/v1/jobs"};
    const auto with = [](const std::string& text) { return Fields{{"authorization", "Munge " + text}}; };
    const std::string text = credential(1000, asked);
    const auto caller = check(get_of("/api/v1/jobs?user=ann", with(text)));
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->identity.user, "ann");
    EXPECT_EQ(caller->identity.proof, Proof::kMunge);
    EXPECT_FALSE(caller->identity.is_staff);
    EXPECT_EQ(status(get_of("/api/v1/jobs", with(text))), 401) << "it was accepted before";
    http::Request elsewhere = get_of("/api/v1/jobs", with(text));
    elsewhere.peer = "192.0.2.8";
    EXPECT_EQ(status(elsewhere), 401);
    clock.advance(std::chrono::seconds(60));
    EXPECT_EQ(status(get_of("/api/v1/jobs", with(text))), 401) << "still in its time, and remembered";

    EXPECT_EQ(status(get_of("/api/v1/jobs", with(credential(1000, asked)))), 200) << "another one";
    EXPECT_EQ(status(get_of("/api/v1/job", with(credential(1000, asked)))), 401) << "another path";
    EXPECT_EQ(status(request_of(http::Method::kDelete, "/api/v1/jobs", with(credential(1000, asked)))), 401);
    const std::string early = credential(1000, asked);
    clock.advance(std::chrono::seconds(61));
    EXPECT_EQ(status(get_of("/api/v1/jobs", with(early))), 401) << "too late";
    EXPECT_EQ(status(get_of("/api/v1/jobs", with(credential(4711, asked)))), 401) << "nobody here";
    EXPECT_EQ(status(get_of("/api/v1/jobs", with(credential_saying(1000, "hello")))), 401);
    EXPECT_EQ(status(get_of("/api/v1/jobs", with("MUNGE:NOTONE==:"))), 401);
}

// A server to which somebody brings a credential that was made for another one, whose name it gets to hear as well.
TEST_P(OnLogin, a_credential_for_another_server_counts_for_nothing) {
    const MungeRequest asked{.host = "other.example.org", .method = "GET", .path = "/"};
    http::Request request;
    request.method = http::Method::kGet;
    request.target = http::parse_target("/").value();
    request.peer = kPeer;
    request.headers.add("host", "other.example.org");
    request.headers.add("authorization", "Munge " + credential(1000, asked));
    EXPECT_EQ(status(request), 401);
    EXPECT_EQ(
        status(get_of("/", {{"authorization",
                             "Munge " + credential(1000, {.host = kHost, .method = "GET", .path = "/"})}})),
        200);
    http::Request with_port = get_of(
        "/", {{"authorization", "Munge " + credential(1000, {.host = kHost, .method = "GET", .path = "/"})}});
    with_port.headers = {};
    with_port.headers.add("host", "Belay.example.org:8443");
    with_port.headers.add("authorization",
                          "Munge " + credential(1001, {.host = kHost, .method = "GET", .path = "/"}));
    EXPECT_EQ(check(with_port)->identity.user, "bob");
}

TEST_P(OnLogin, munge_that_is_down_is_not_the_senders_fault) {
    const MungeRequest asked{.host = kHost, .method = "GET", .path = "/"};
    const auto ask = [&] {
        return status(get_of("/", {{"authorization", "Munge " + credential(1000, asked)}}));
    };
    munge_is_down = true;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(), 503);
    EXPECT_EQ(decoded, 1) << "a daemon that hangs does not hold all threads";
    munge_is_down = false;
    EXPECT_EQ(ask(), 503);
    clock.advance(std::chrono::seconds(2));
    EXPECT_EQ(ask(), 200);
}

}  // namespace
}  // namespace belay::server
