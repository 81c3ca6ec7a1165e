// What login is made of, without state: bounds, credentials of munge, cookies, pages, what callers say.
#include "http/gate.h"
#include "server/login/caller.h"
#include "server/login/cookie.h"
#include "server/login/failure_limit.h"
#include "server/login/munge_payload.h"
#include "server/login/next_page.h"
#include "server/login/recent.h"
#include "server/login/replay_cache.h"
#include "server/login/testing.h"

#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(server_login, recent_entries_are_bounded) {
    Recent<int> recent(3);
    for (int i = 0; i < 5; ++i) recent.put(std::to_string(i), i);
    EXPECT_EQ(recent.size(), 3U);
    EXPECT_EQ(recent.find("1"), nullptr);
    ASSERT_NE(recent.find("2"), nullptr);
    recent.put("2", 22);
    EXPECT_EQ(recent.size(), 3U);
    recent.put("5", 5);
    EXPECT_EQ(recent.find("3"), nullptr) << "that was put first";
    EXPECT_EQ(*recent.find("2"), 22);
    recent.remove("2");
    recent.remove("none");
    EXPECT_EQ(recent.size(), 2U);
}

TEST(server_login, failures_are_counted_and_forgiven) {
    core::ManualClock clock(kStateTime);
    FailureLimit limit({.burst = 3, .recovery = std::chrono::seconds(10), .peers = 100}, clock);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(limit.is_reached("a")) << i;
        limit.count("a");
    }
    EXPECT_TRUE(limit.is_reached("a"));
    EXPECT_FALSE(limit.is_reached("b"));
    clock.advance(std::chrono::seconds(9));
    EXPECT_TRUE(limit.is_reached("a"));
    clock.advance(std::chrono::seconds(1));
    EXPECT_FALSE(limit.is_reached("a")) << "one more";
    limit.count("a");
    EXPECT_TRUE(limit.is_reached("a"));
    clock.advance(std::chrono::hours(1));
    for (int i = 0; i < 3; ++i) limit.count("a");
    EXPECT_TRUE(limit.is_reached("a")) << "an hour of rest gives no more than the burst";
    for (int i = 0; i < 1000; ++i) limit.count("peer " + std::to_string(i));
    EXPECT_EQ(limit.peers(), 100U);
}

TEST(server_login, a_network_of_ipv6_is_one_peer) {
    EXPECT_EQ(http::peer_group("2001:db8::1"), http::peer_group("2001:db8::2:3"));
    EXPECT_NE(http::peer_group("2001:db8::1"), http::peer_group("2001:db8:1::1"));
}

TEST(server_login, a_credential_counts_once_and_room_for_them_is_bounded) {
    core::ManualClock clock(kStateTime);
    using Answer = ReplayCache::Answer;
    ReplayCache cache(std::chrono::seconds(100), 5, 3, clock);
    EXPECT_EQ(cache.take("a", 1), Answer::kFirst);
    EXPECT_EQ(cache.take("a", 1), Answer::kAgain);
    EXPECT_EQ(cache.take("a", 2), Answer::kAgain);
    EXPECT_EQ(cache.take("b", 1), Answer::kFirst);
    EXPECT_EQ(cache.take("c", 1), Answer::kFirst);
    EXPECT_EQ(cache.take("d", 1), Answer::kFull) << "one user does not take all the room";
    clock.advance(std::chrono::seconds(50));
    EXPECT_EQ(cache.take("d", 2), Answer::kFirst);
    EXPECT_EQ(cache.take("e", 2), Answer::kFirst);
    EXPECT_EQ(cache.take("f", 3), Answer::kFull);
    EXPECT_EQ(cache.size(), 5U);
    clock.advance(std::chrono::seconds(50));
    EXPECT_EQ(cache.take("f", 3), Answer::kFirst);
    EXPECT_EQ(cache.take("g", 1), Answer::kFirst) << "his first ones are forgotten";
    EXPECT_EQ(cache.take("d", 2), Answer::kAgain) << "the others are not";
    EXPECT_EQ(cache.size(), 4U);
}

TEST(server_login, a_credential_is_for_one_request) {
    const MungeRequest asked{.host = kHost, .method = "GET", .path = "/api/v1/jobs"};
    const std::string payload = munge_payload(asked, kStateTime);
    EXPECT_THAT(payload, ::testing::MatchesRegex("belayd/1 belay\\.example\\.org GET [0-9a-f]+ 1700000000"));
    const auto why = [](const std::string& text, const MungeRequest& request, core::Time now = kStateTime) {
        const auto checked = check_munge_payload(text, request, now);
        if (!checked) {
            EXPECT_EQ(checked.error().cause(), core::Cause::kDenied);
        }
        return checked ? std::string() : checked.error().message();
    };
    EXPECT_EQ(why(payload, asked), "");
    EXPECT_EQ(why(payload, asked, kStateTime + kMungeWindow), "");
    EXPECT_EQ(why(payload, asked, kStateTime - kMungeWindow), "");
    EXPECT_THAT(why(payload, asked, kStateTime + kMungeWindow + std::chrono::seconds(1)),
                HasSubstr("too long ago"));
    EXPECT_THAT(why(payload, asked, kStateTime - kMungeWindow - std::chrono::seconds(1)),
                HasSubstr("future"));
    EXPECT_THAT(why(payload, {.host = "other", .method = "GET", .path = asked.path}),
                HasSubstr("another server"));
    EXPECT_THAT(why(payload, {.host = kHost, .method = "DELETE", .path = asked.path}),
                HasSubstr("another method"));
    EXPECT_THAT(why(payload, {.host = kHost, .method = "GET", .path = "/api/v1/jobs/"}),
                HasSubstr("another path"));
    for (const std::string& text :
         {std::string(), payload + " ", " " + payload, payload + " more", "belayd/2" + payload.substr(8),
          payload.substr(0, payload.rfind(' ')) + " -1700000000",
          payload.substr(0, payload.rfind(' ')) + " 17e8",
          payload.substr(0, payload.rfind(' ')) + " 99999999999999999999", std::string(5000, 'x')})
        EXPECT_NE(why(text, asked), "") << text;
}

TEST(server_login, a_credential_has_one_text) {
    for (const char* text : {"MUNGE:AwQF:", "MUNGE:AwQFAA==:", "MUNGE:AwQFAAA=:"})
        EXPECT_TRUE(is_munge_text(text)) << text;
    for (const char* text :
         {"", "MUNGE:", "MUNGE::", "munge:AwQF:", "MUNGE:AwQF", "MUNGE:AwQF:x",
          "MUNGE:AwQF: ", "MUNGE:AwQ:", "MUNGE:A wQ:", "MUNGE:AwQFAB==:", "MUNGE:AwQFAAB=:",
          "MUNGE:AwQFA===:", "MUNGE:====:", "MUNGE:AwQ=AwQF:", "MUNGE:AwQ-:"})
        EXPECT_FALSE(is_munge_text(text)) << text;
    EXPECT_FALSE(is_munge_text("MUNGE:" + std::string(10'000, 'A') + ":"));
}

TEST(server_login, cookies_are_read_by_their_whole_name_and_once) {
    const auto cookie = [](const std::vector<std::string>& fields) {
        http::Headers headers;
        for (const std::string& field : fields) headers.add("cookie", field);
        const auto found = cookie_of(headers, kSessionCookie);
        return found ? std::string(*found) : std::string("none");
    };
    EXPECT_EQ(cookie({"a=b; __Host-belay-session=x; c=d"}), "x");
    EXPECT_EQ(cookie({"__Host-belay-session=x=y"}), "x=y");
    EXPECT_EQ(cookie({"__Host-belay-session="}), "");
    for (const std::vector<std::string>& fields : {std::vector<std::string>{},
                                                   {"belay-session=x"},
                                                   {"x__Host-belay-session=x"},
                                                   {"__host-belay-session=x"},
                                                   {"__Host-belay-session=x; __Host-belay-session=y"},
                                                   {"__Host-belay-session=x", "__Host-belay-session=x"},
                                                   {"__Host-belay-session"}})
        EXPECT_EQ(cookie(fields), "none");
    const std::string field = cookie_field(kSessionCookie, "x", std::chrono::hours(1));
    for (const char* rule : {"__Host-belay-session=x; ", "; Path=/;", "; Secure", "; HttpOnly",
                             "; SameSite=Lax", "; Max-Age=3600"})
        EXPECT_THAT(field, HasSubstr(rule));
    EXPECT_THAT(field, ::testing::Not(HasSubstr("Domain")));
}

TEST(server_login, a_cookie_counts_for_our_own_pages) {
    struct Case {
        http::Method method;
        Fields fields;
        bool counts;
    };
    const Fields navigation = {
        {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}};
    const Case cases[] = {
        {http::Method::kGet, {}, true},  // a browser without Fetch Metadata
        {http::Method::kGet, {{"sec-fetch-site", "same-origin"}}, true},
        {http::Method::kGet, {{"sec-fetch-site", "none"}}, true},  // typed
        {http::Method::kGet, navigation, true},                    // a link from a mail
        {http::Method::kGet,
         {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}, {"sec-fetch-dest", "image"}},
         false},
        {http::Method::kGet,
         {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "iframe"}},
         false},
        {http::Method::kGet, {{"sec-fetch-site", "same-site"}}, false},
        {http::Method::kGet, {{"origin", "https://evil.example"}}, false},
        {http::Method::kGet, {{"origin", "null"}}, false},
        {http::Method::kPost, {}, false},  // nothing says from where
        {http::Method::kPost, {{"origin", "https://belay.example.org"}}, true},
        {http::Method::kPost, {{"sec-fetch-site", "same-origin"}}, true},
        {http::Method::kPost,
         {{"origin", "https://belay.example.org"}, {"sec-fetch-site", "same-origin"}},
         true},
        {http::Method::kPost,
         {{"origin", "https://belay.example.org"}, {"sec-fetch-site", "cross-site"}},
         false},
        {http::Method::kPost, {{"origin", "http://belay.example.org"}}, false},
        {http::Method::kPost, {{"origin", "https://belay.example.org.evil.example"}}, false},
        {http::Method::kPost, {{"origin", "https://evil.example"}, {"sec-fetch-site", "same-origin"}}, false},
        {http::Method::kPost, {{"sec-fetch-site", "none"}}, false},
        {http::Method::kPost, navigation, false},
        {http::Method::kDelete, {{"sec-fetch-site", "same-site"}}, false},
    };
    for (const Case& each : cases) {
        std::string fields;
        for (const auto& [name, value] : each.fields) fields += fmt::format(" {}: {}", name, value);
        EXPECT_EQ(cookie_counts(request_of(each.method, "/", each.fields)), each.counts)
            << http::method_name(each.method) << fields;
    }
}

TEST(server_login, the_next_page_is_one_of_ours) {
    for (const char* page : {"/", "/jobs", "/jobs/c-7?tab=gpu&x=https://a/b", "/jobs/%C3%A4"})
        EXPECT_EQ(safe_next(page), page);
    for (const std::string& page : {std::string(),
                                    std::string("jobs"),
                                    std::string("//evil.example"),
                                    std::string("///evil.example"),
                                    std::string("/\\evil.example"),
                                    std::string("\\\\evil.example"),
                                    std::string("/\t/evil.example"),
                                    std::string("/\n/evil.example"),
                                    std::string("https://evil.example"),
                                    std::string("https:evil.example"),
                                    std::string("javascript:alert(1)"),
                                    std::string("/%2f/evil.example"),
                                    std::string("/%5cevil.example"),
                                    std::string("/..//evil.example"),
                                    std::string("/./evil"),
                                    std::string("/a//b"),
                                    std::string(" /jobs"),
                                    std::string("/jobs "),
                                    std::string("/jobs\r\nSet-Cookie: a=b"),
                                    std::string("/jobs#x"),
                                    std::string("/auth/login?next=/"),
                                    std::string("/auth/logout"),
                                    std::string("/%61uth/login"),
                                    std::string("/jobs/\xc3\xa4"),
                                    "/" + std::string(3000, 'a'),
                                    std::string("/a\0b", 4)})
        EXPECT_EQ(safe_next(page), "/") << page;
}

TEST(server_login, callers_travel_whole) {
    Caller caller{.identity = {.user = "ann",
                               .proof = Proof::kOidc,
                               .is_staff = true,
                               .member_of = {"qcd", "b:c"},
                               .manages = {"qcd"},
                               .scope = {.may_change = false, .job = "c/7:x", .expires = kStateTime}},
                  .token = "0123456789abcdef",
                  .project = "qcd"};
    const http::Identity words = to_http(caller);
    EXPECT_EQ(words.name, "ann");
    const auto read = from_http(words);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->identity.user, "ann");
    EXPECT_EQ(read->identity.proof, Proof::kOidc);
    EXPECT_TRUE(read->identity.is_staff);
    EXPECT_THAT(read->identity.member_of, ElementsAre("b:c", "qcd"));
    EXPECT_THAT(read->identity.manages, ElementsAre("qcd"));
    EXPECT_FALSE(read->identity.scope.may_change);
    EXPECT_EQ(read->identity.scope.job, "c/7:x");
    EXPECT_EQ(read->identity.scope.expires, kStateTime);
    EXPECT_EQ(read->token, "0123456789abcdef");
    EXPECT_EQ(read->project, "qcd");
    EXPECT_EQ(read->node, "");
    const auto plain = from_http(to_http({.identity = {.user = "bob"}}));
    ASSERT_TRUE(plain);
    EXPECT_FALSE(plain->identity.is_staff);
    EXPECT_TRUE(plain->identity.scope.may_change);
    EXPECT_FALSE(plain->identity.scope.job);
    EXPECT_FALSE(plain->identity.scope.expires);
    EXPECT_EQ(to_http({.node = "n1"}).name, "node n1");
    EXPECT_EQ(to_http({.identity = {.user = "ann", .proof = Proof::kLink}}).name, "link of ann");

    for (const std::vector<std::string>& roles : {std::vector<std::string>{},
                                                  {"admin"},
                                                  {"user:ann", "rights:all"},
                                                  {"user:ann", "proof:none"},
                                                  {"staff:yes"},
                                                  {"until:x"}})
        EXPECT_FALSE(from_http({.name = "ann", .roles = roles}));
    http::Request request = get_of("/");
    EXPECT_EQ(status_of(caller_in(request)), 401) << "nobody was asked who it is";
    request.identity = words;
    EXPECT_EQ(identity_in(request)->user, "ann");
}

TEST(server_login, a_token_makes_no_more_of_its_user_than_it_says) {
    const Identity known{.user = "ann", .member_of = {"qcd", "bio"}, .manages = {"qcd"}};
    const auto with = [&](const TokenFacts& facts) {
        return caller_of(StoredToken{.id = "t", .facts = facts}, known).identity;
    };
    const Identity user = with({.user = "ann", .made_by = "ann"});
    EXPECT_THAT(user.member_of, ElementsAre("bio", "qcd"));
    EXPECT_THAT(user.manages, IsEmpty()) << "she manages, but not with this token";
    EXPECT_THAT(with({.role = TokenRole::kManager, .user = "ann", .made_by = "ann"}).manages,
                ElementsAre("qcd"));
    const Identity project =
        with({.role = TokenRole::kManager, .user = "ann", .project = "bio", .made_by = "ann"});
    EXPECT_THAT(project.member_of, ElementsAre("bio"));
    EXPECT_THAT(project.manages, IsEmpty()) << "of which she is a member";
    EXPECT_THAT(with({.user = "ann", .project = "physics", .made_by = "ann"}).member_of, IsEmpty())
        << "she does not belong to it now";
    EXPECT_THAT(with({.role = TokenRole::kManager, .user = "ann", .project = "physics"}).manages,
                ElementsAre("physics"))
        << "those who run the server said so";
    EXPECT_TRUE(with({.role = TokenRole::kStaff, .user = "ann"}).is_staff);
    EXPECT_FALSE(with({.role = TokenRole::kStaff, .user = "ann", .made_by = "ann"}).is_staff);
    const Caller node =
        caller_of(StoredToken{.id = "t", .facts = {.role = TokenRole::kNode, .user = "n1"}}, known);
    EXPECT_EQ(node.node, "n1");
    EXPECT_EQ(node.identity.user, "");
    EXPECT_THAT(node.identity.member_of, IsEmpty());
    EXPECT_FALSE(node.identity.is_staff);
}

}  // namespace
}  // namespace belay::server
