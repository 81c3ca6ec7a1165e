#include "server/state/session_store.h"

#include "server/access/token.h"
#include "server/state/attempt_store.h"
#include "server/state/clean_up.h"
#include "server/state/link_store.h"
#include "server/state/testing.h"
#include "server/state/token_store.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;

constexpr auto kSessionTime = std::chrono::hours(12);

SessionFacts session_of_user(const std::string& user) {
    return {.user = user, .expires = kStateTime + kSessionTime};
}

TEST_P(OnState, a_session_is_found_until_it_is_ended) {
    const MadeSession made = got(create_session(state(), session_of_user("ann"), kStateTime, soon()));
    const auto stored = got(find_session(state(), made.id, soon()));
    ASSERT_TRUE(stored);
    EXPECT_TRUE(is_token_of(*parse_token(made.text), stored->digest));
    EXPECT_EQ(stored->facts.user, "ann");
    EXPECT_EQ(stored->facts.proof, Proof::kOidc);
    EXPECT_FALSE(stored->facts.job);
    EXPECT_EQ(stored->facts.expires, kStateTime + kSessionTime);
    EXPECT_TRUE(got(end_session(state(), made.id, soon())));
    EXPECT_FALSE(got(find_session(state(), made.id, soon())));
    EXPECT_FALSE(got(end_session(state(), made.id, soon())));

    SessionFacts link = session_of_user("ann");
    link.proof = Proof::kLink;
    EXPECT_FALSE(create_session(state(), link, kStateTime, soon())) << "of a link without a job";
    link.job = "c/1";
    const MadeSession shown = got(create_session(state(), link, kStateTime, soon()));
    EXPECT_EQ(got(find_session(state(), shown.id, soon()))->facts.job, "c/1");
    EXPECT_EQ(got(end_sessions_of_job(state(), "c/1", soon())), 1);
    SessionFacts job = session_of_user("ann");
    job.job = "c/1";
    EXPECT_FALSE(create_session(state(), job, kStateTime, soon())) << "of a login, for one job";
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(create_session(state(), session_of_user("bob"), kStateTime, soon()));
    EXPECT_EQ(got(end_sessions_of(state(), "bob", soon())), 3);
}

StoredAttempt attempt_of(const std::string& state) {
    return {.attempt = {.state = state,
                        .nonce = "nonce",
                        .verifier = "verifier",
                        .expires = kStateTime + std::chrono::minutes(10)},
            .issuer = "https://id.example.org",
            .browser = "browser of " + state,
            .next = "/jobs?x=1"};
}

TEST_P(OnState, a_login_comes_back_once_and_to_the_browser_that_began_it) {
    ASSERT_TRUE(put_attempt(state(), attempt_of("s"), kStateTime, soon()));
    const auto take = [&](std::string_view login, std::string_view browser, core::Time now = kStateTime) {
        return got(take_attempt(state(), login, browser, now, soon()));
    };
    EXPECT_FALSE(take("s", "another browser"));
    EXPECT_FALSE(take("t", "browser of s"));
    EXPECT_FALSE(take("s", "browser of s", kStateTime + std::chrono::minutes(10))) << "too late";
    const auto taken = take("s", "browser of s");
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->attempt.state, "s");
    EXPECT_EQ(taken->attempt.nonce, "nonce");
    EXPECT_EQ(taken->attempt.verifier, "verifier");
    EXPECT_EQ(taken->issuer, "https://id.example.org");
    EXPECT_EQ(taken->next, "/jobs?x=1");
    EXPECT_FALSE(take("s", "browser of s")) << "twice";
}

TEST_P(OnState, of_those_that_take_a_login_at_once_one_gets_it) {
    for (int round = 0; round < 5; ++round) {
        ASSERT_TRUE(put_attempt(state(), attempt_of("s"), kStateTime, soon()));
        std::atomic<int> taken = 0;
        std::vector<std::thread> takers;
        for (int i = 0; i < 3; ++i)
            takers.emplace_back([&, own = another()]() mutable {
                const auto mine = take_attempt(own, "s", "browser of s", kStateTime, soon());
                if (mine && *mine) ++taken;
            });
        for (std::thread& taker : takers) taker.join();
        EXPECT_EQ(taken, 1);
    }
}

TEST_P(OnState, what_has_expired_is_cleaned_up) {
    put(job_number(1, "ann"));
    ASSERT_TRUE(create_session(state(), session_of_user("ann"), kStateTime, soon()));
    ASSERT_TRUE(put_attempt(state(), attempt_of("s"), kStateTime, soon()));
    ASSERT_TRUE(create_link(state(),
                            {.job = "c/1", .made_by = "ann", .expires = kStateTime + std::chrono::hours(1)},
                            kStateTime, soon()));
    ASSERT_TRUE(create_token(state(), {.user = "ann"}, kStateTime, soon()));
    ASSERT_TRUE(create_token(state(),
                             {.user = "ann", .scope = {.expires = kStateTime + std::chrono::hours(1)}},
                             kStateTime, soon()));
    const auto clean = [&](core::Duration later) {
        const CleanedUp cleaned = got(clean_up(state(), kStateTime + later, {}, soon()));
        return std::vector<int64_t>{cleaned.sessions, cleaned.login_attempts, cleaned.links, cleaned.tokens};
    };
    EXPECT_EQ(clean({}), (std::vector<int64_t>{0, 0, 0, 0}));
    EXPECT_EQ(clean(std::chrono::hours(2)), (std::vector<int64_t>{0, 1, 1, 0}));
    EXPECT_EQ(clean(std::chrono::hours(13)), (std::vector<int64_t>{1, 0, 0, 0}));
    EXPECT_EQ(clean(std::chrono::days(31)), (std::vector<int64_t>{0, 0, 0, 1}))
        << "people saw it for a month";
    EXPECT_EQ(count("SELECT count(*) FROM token"), 1) << "one that does not expire";
}

}  // namespace
}  // namespace belay::server
