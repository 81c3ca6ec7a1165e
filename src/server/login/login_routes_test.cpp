#include "server/login/login_routes.h"

#include "server/login/testing.h"
#include "server/state/audit_store.h"
#include "server/state/link_store.h"
#include "server/state/session_store.h"

#include <atomic>
#include <cstddef>
#include <latch>
#include <thread>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_P(OnLogin, a_browser_logs_in_and_out) {
    const http::Response begun = answer_get("/auth/login?next=%2Fjobs%3Ftab%3Dgpu");
    EXPECT_EQ(begun.status, 303);
    EXPECT_THAT(location_of(begun),
                StartsWith(kIssuerName + "/authorize?response_type=code&client_id=belay"));
    EXPECT_THAT(location_of(begun),
                HasSubstr("redirect_uri=https%3A%2F%2Fbelay.example.org%2Fauth%2Fcallback"));
    EXPECT_EQ(begun.header("cache-control"), "no-store");
    const std::string browser = cookie_set_by(begun, kLoginCookie);
    EXPECT_THAT(location_of(begun), Not(HasSubstr(browser)));

    const std::string back = fake.log_in(location_of(begun), "ann");
    const http::Response done = answer_get(back, with_cookie(kLoginCookie, browser));
    EXPECT_EQ(done.status, 303) << body_of(done);
    EXPECT_EQ(location_of(done), "/jobs?tab=gpu");
    EXPECT_EQ(cookie_set_by(done, kLoginCookie), "") << "it has served";
    const std::string session = cookie_set_by(done, kSessionCookie);
    ASSERT_TRUE(parse_token(session)) << session;
    const http::Response me = answer_get("/api/v1/me", with_cookie(kSessionCookie, session));
    EXPECT_EQ(me.status, 200);
    EXPECT_EQ(json_of(me).at("user"), "ann");
    EXPECT_EQ(json_of(me).at("proof"), "oidc");
    EXPECT_EQ(json_of(me).at("staff"), false);
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE what = 'session.begin' AND who = 'ann'"), 1);

    Fields from_page = with_cookie(kSessionCookie, session);
    EXPECT_EQ(answer_post("/auth/logout", from_page).status, 403) << "nothing says which page";
    from_page.emplace_back("origin", "https://evil.example");
    EXPECT_EQ(answer_post("/auth/logout", from_page).status, 403);
    EXPECT_EQ(answer_get("/api/v1/me", with_cookie(kSessionCookie, session)).status, 200);
    from_page.back().second = "https://" + kHost;
    const http::Response out = answer_post("/auth/logout", from_page);
    EXPECT_EQ(out.status, 204);
    EXPECT_EQ(cookie_set_by(out, kSessionCookie), "");
    EXPECT_EQ(answer_get("/api/v1/me", with_cookie(kSessionCookie, session)).status, 401) << "at once";
    EXPECT_EQ(count("SELECT count(*) FROM session"), 0);
    EXPECT_EQ(answer_post("/auth/logout", from_page).status, 204) << "again";
}

TEST_P(OnLogin, a_session_ends_and_is_only_for_our_pages) {
    const std::string session = log_in("sue");
    ASSERT_TRUE(parse_token(session));
    const Fields cookie = with_cookie(kSessionCookie, session);
    const auto caller = check(get_of("/", cookie));
    ASSERT_TRUE(caller);
    EXPECT_TRUE(caller->identity.is_staff);
    EXPECT_TRUE(caller->identity.scope.may_change);
    const auto with = [&](Fields more) {
        more.insert(more.end(), cookie.begin(), cookie.end());
        return more;
    };
    EXPECT_EQ(status(get_of("/", with({{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}))),
              401);
    EXPECT_EQ(status(request_of(http::Method::kPost, "/", cookie)), 401);
    EXPECT_EQ(status(request_of(http::Method::kPost, "/", with({{"origin", "https://evil.example"}}))), 401);
    EXPECT_EQ(status(request_of(http::Method::kPost, "/", with({{"origin", "https://" + kHost}}))), 200);
    EXPECT_EQ(status(get_of("/", with({{"authorization", "Bearer x"}}))), 401)
        << "another credential goes before it";
    EXPECT_EQ(status(get_of("/", bearing(session))), 401) << "a session is no token";
    EXPECT_EQ(status(get_of("/", with_cookie(kSessionCookie, token_for({.user = "ann"})))), 401)
        << "nor the other way round";
    clock.advance(std::chrono::hours(12));
    EXPECT_EQ(status(get_of("/", cookie)), 401);
}

TEST_P(OnLogin, who_comes_back_otherwise_is_not_logged_in) {
    struct Trick {
        std::string name;
        std::function<void(std::string& back, std::string& browser)> play;
    };
    const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
        const size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << text;
        text.replace(at, from.size(), to);
    };
    const Trick tricks[] = {
        {"another browser", [](std::string&, std::string& browser) { browser = make_token()->secret; }},
        {"no cookie", [](std::string&, std::string& browser) { browser.clear(); }},
        {"another state", [&](std::string& back, std::string&) { replace(back, "state=", "state=x"); }},
        {"two states", [](std::string& back, std::string&) { back += "&state=x"; }},
        {"two codes", [](std::string& back, std::string&) { back += "&code=x"; }},
        {"another code", [&](std::string& back, std::string&) { replace(back, "code=c0de", "code=x"); }},
        {"no code", [&](std::string& back, std::string&) { replace(back, "&code=c0de", ""); }},
        {"another provider",
         [&](std::string& back, std::string&) { replace(back, "id.example.org", "evil.example"); }},
        {"refused there",
         [&](std::string& back, std::string&) { replace(back, "&code=c0de", "&error=access_denied"); }},
        {"too late", [this](std::string&, std::string&) { clock.advance(std::chrono::minutes(10)); }},
        {"for another login",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) { claims["nonce"] = "x"; };
         }},
        {"for no login",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) { claims.erase("nonce"); };
         }},
        {"for another client",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) { claims["aud"] = "wiki"; };
         }},
        {"by another client",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) {
                 claims["aud"] = {"belay", "wiki"};
                 claims["azp"] = "wiki";
             };
         }},
        {"without a name",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) { claims.erase("preferred_username"); };
         }},
        {"by a strange name",
         [this](std::string&, std::string&) {
             fake.change = [](nlohmann::json& claims) { claims["preferred_username"] = "../ann"; };
         }},
    };
    for (const Trick& trick : tricks) {
        fake.change = {};
        const http::Response begun = answer_get("/auth/login");
        std::string browser = cookie_set_by(begun, kLoginCookie),
                    back = fake.log_in(location_of(begun), "ann");
        trick.play(back, browser);
        const http::Response failed = answer_get(back, with_cookie(kLoginCookie, browser));
        EXPECT_EQ(failed.status, 401) << trick.name;
        EXPECT_EQ(json_of(failed).at("error").at("message"), "the login did not succeed") << trick.name;
        EXPECT_EQ(cookie_set_by(failed, kSessionCookie), "-") << trick.name;
        clock.advance(std::chrono::minutes(1));
    }
    EXPECT_EQ(count("SELECT count(*) FROM session"), 0);
    fake.change = {};
    EXPECT_TRUE(parse_token(log_in("ann"))) << "without tricks it works";
}

TEST_P(OnLogin, a_callback_counts_once) {
    const http::Response begun = answer_get("/auth/login");
    const std::string browser = cookie_set_by(begun, kLoginCookie),
                      back = fake.log_in(location_of(begun), "ann");
    EXPECT_EQ(answer_get(back, with_cookie(kLoginCookie, browser)).status, 303);
    EXPECT_EQ(answer_get(back, with_cookie(kLoginCookie, browser)).status, 401);
}

TEST_P(OnLogin, a_login_leads_to_our_own_pages_only) {
    for (const char* next :
         {"https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2F%5Cevil.example", "%2F%09%2Fevil.example",
          "evil", "%2Fauth%2Flogout", "%2Fjobs%0D%0ASet-Cookie%3A%20a%3Db", "%2Fa&next=%2F%2Fevil.example"}) {
        const http::Response begun = answer_get(std::string("/auth/login?next=") + next);
        ASSERT_EQ(begun.status, 303) << next;
        const std::string browser = cookie_set_by(begun, kLoginCookie),
                          back = fake.log_in(location_of(begun), "ann");
        EXPECT_EQ(location_of(answer_get(back, with_cookie(kLoginCookie, browser))), "/") << next;
    }
}

TEST_P(OnLogin, who_begins_too_many_logins_waits) {
    login_options.limit = {.burst = 4, .recovery = std::chrono::seconds(10)};
    start();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(answer_get("/auth/login").status, 303);
    EXPECT_EQ(answer_get("/auth/login").status, 429);
    EXPECT_EQ(count("SELECT count(*) FROM login_attempt"), 4);
    clock.advance(std::chrono::seconds(10));
    EXPECT_EQ(answer_get("/auth/login").status, 303);
}

TEST_P(OnLogin, without_its_provider_nobody_logs_in) {
    fake.is_down = true;
    EXPECT_EQ(answer_get("/auth/login").status, 503);
    EXPECT_EQ(count("SELECT count(*) FROM login_attempt"), 0);
}

// Of a job of Ann's.
LinkFacts link_of_ann(core::Time now, bool is_once = true) {
    return {.job = "c/1", .made_by = "ann", .is_once = is_once, .expires = now + std::chrono::days(1)};
}

TEST_P(OnLogin, a_link_shows_one_job_and_nothing_else) {
    put(job_number(1, "ann"));
    put(job_number(2, "ann"));
    const std::string link = got(create_link(state(), link_of_ann(clock.now()), clock.now(), soon())).text;
    const std::string target = "/auth/link/" + link;
    EXPECT_EQ(answer(request_of(http::Method::kHead, target)).status, 403) << "a look ahead takes nothing";
    EXPECT_EQ(answer_get(target, {{"sec-purpose", "prefetch;prerender"}}).status, 403);
    EXPECT_EQ(answer_get(target, {{"purpose", "prefetch"}}).status, 403);
    const http::Response taken = answer_get(target);
    EXPECT_EQ(taken.status, 303) << body_of(taken);
    EXPECT_EQ(location_of(taken), "/jobs/c%2F1");
    EXPECT_THAT(location_of(taken), Not(HasSubstr(link)));
    const std::string session = cookie_set_by(taken, kSessionCookie);
    const auto caller = check(get_of("/", with_cookie(kSessionCookie, session)));
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->identity.proof, Proof::kLink);
    const Accounts none;
    const auto sees = [&](const std::string& key, Wish wish) {
        return decide(caller->identity, facts_of(found(key)), wish, none, clock.now()).is_allowed;
    };
    EXPECT_TRUE(sees("c/1", Wish::kSeeJob));
    EXPECT_FALSE(sees("c/2", Wish::kSeeJob));
    EXPECT_FALSE(sees("c/1", Wish::kChangeJob));
    const Fields from_page = {{"cookie", std::string(kSessionCookie) + "=" + session},
                              {"origin", "https://" + kHost}};
    EXPECT_EQ(answer_post("/api/v1/tokens", from_page, "{}").status, 403);
    EXPECT_EQ(answer_get("/api/v1/tokens", with_cookie(kSessionCookie, session)).status, 403);
    EXPECT_EQ(answer_get(target).status, 404) << "twice";
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE what = 'link.take' AND job_key = 'c/1'"), 1);
    clock.advance(std::chrono::hours(1));
    EXPECT_EQ(status(get_of("/", with_cookie(kSessionCookie, session))), 401) << "an hour later";
}

TEST_P(OnLogin, a_session_ends_no_later_than_a_link_that_many_take) {
    put(job_number(1, "ann"));
    const std::string link =
        got(create_link(state(), link_of_ann(clock.now(), false), clock.now(), soon())).text;
    EXPECT_EQ(answer_get("/auth/link/" + link).status, 303);
    clock.advance(std::chrono::hours(24) - std::chrono::minutes(1));
    const std::string session = cookie_set_by(answer_get("/auth/link/" + link), kSessionCookie);
    EXPECT_EQ(status(get_of("/", with_cookie(kSessionCookie, session))), 200);
    clock.advance(std::chrono::minutes(1));
    EXPECT_EQ(status(get_of("/", with_cookie(kSessionCookie, session))), 401);
    EXPECT_EQ(answer_get("/auth/link/" + link).status, 404);
}

TEST_P(OnLogin, who_guesses_links_waits) {
    login_options.limit = {.burst = 3, .recovery = std::chrono::seconds(10)};
    start();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(answer_get("/auth/link/" + make_token()->text()).status, 404);
    EXPECT_EQ(answer_get("/auth/link/" + make_token()->text()).status, 429);
    EXPECT_EQ(answer_get("/auth/link/x").status, 429);
}

TEST_P(OnLogin, of_those_who_open_a_link_at_once_one_gets_in) {
    put(job_number(1, "ann"));
    constexpr int kOpeners = 4;
    for (int round = 0; round < 5; ++round) {
        const std::string link =
            got(create_link(state(), link_of_ann(clock.now()), clock.now(), soon())).text;
        std::atomic<int> in = 0, out = 0;
        std::latch ready(kOpeners);
        std::vector<std::thread> openers;
        for (int i = 0; i < kOpeners; ++i)
            openers.emplace_back([&] {
                ready.arrive_and_wait();
                const int status = answer_get("/auth/link/" + link).status;
                if (status == 303) ++in;
                if (status == 404) ++out;
            });
        for (std::thread& opener : openers) opener.join();
        EXPECT_EQ(in, 1);
        EXPECT_EQ(out, kOpeners - 1);
    }
    EXPECT_EQ(count("SELECT count(*) FROM session"), 5);
}

}  // namespace
}  // namespace belay::server
