#include "server/state/token_store.h"

#include "server/access/token.h"
#include "server/state/audit_store.h"
#include "server/state/testing.h"
#include "server/state/token_command.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr auto kHour = std::chrono::hours(1);

TEST_P(OnState, a_token_is_found_by_id_and_its_secret_is_not_kept) {
    const TokenFacts facts{.role = TokenRole::kManager,
                           .user = "ann",
                           .project = "qcd",
                           .scope = {.may_change = false, .job = "c/7", .expires = kStateTime + kHour},
                           .label = "Zürich",
                           .made_by = "ann"};
    const MadeToken made = got(create_token(state(), facts, kStateTime, soon()));
    const auto token = parse_token(made.text);
    ASSERT_TRUE(token);
    EXPECT_EQ(token->id, made.id);
    const auto stored = got(find_token(state(), made.id, soon()));
    ASSERT_TRUE(stored);
    EXPECT_TRUE(is_token_of(*token, stored->digest));
    EXPECT_FALSE(is_token_of(*make_token(), stored->digest));
    EXPECT_EQ(stored->digest.find(token->secret), std::string::npos);
    EXPECT_EQ(stored->facts.role, TokenRole::kManager);
    EXPECT_EQ(stored->facts.user, "ann");
    EXPECT_EQ(stored->facts.project, "qcd");
    EXPECT_EQ(stored->facts.label, "Zürich");
    EXPECT_EQ(stored->facts.made_by, "ann");
    EXPECT_EQ(stored->facts.scope.job, "c/7");
    EXPECT_FALSE(stored->facts.scope.may_change);
    EXPECT_EQ(stored->created, kStateTime);
    EXPECT_FALSE(stored->last_used);
    EXPECT_TRUE(stored->is_live(kStateTime));
    EXPECT_FALSE(stored->is_live(kStateTime + kHour)) << "expired then";
    EXPECT_FALSE(got(find_token(state(), "0123456789abcdef", soon())));
}

TEST_P(OnState, tokens_that_cannot_be_are_refused) {
    const auto refused = [&](const TokenFacts& facts) {
        const auto made = create_token(state(), facts, kStateTime, soon());
        return !made && made.error().kind() == core::ErrorKind::kBadInput;
    };
    EXPECT_TRUE(refused({.user = ""}));
    EXPECT_TRUE(refused({.user = "ann\n"}));
    EXPECT_TRUE(refused({.user = std::string(kAllNodes)})) << "nobody is all users";
    EXPECT_TRUE(refused({.user = "ann", .label = "a\x1b[2J"}));
    EXPECT_TRUE(refused({.role = TokenRole::kStaff, .user = "ann", .project = "qcd"}));
    EXPECT_TRUE(refused({.role = TokenRole::kNode, .user = "n1", .project = "qcd"}));
    EXPECT_TRUE(refused({.user = "ann", .scope = {.expires = kStateTime}}));
    EXPECT_EQ(count("SELECT count(*) FROM token"), 0);
}

TEST_P(OnState, a_revoked_token_takes_those_made_with_it_along) {
    const auto make = [&](const std::string& parent) {
        return got(create_token(state(), {.user = "ann", .parent = parent}, kStateTime, soon())).id;
    };
    const std::string first = make(""), other = make("");
    const std::string child = make(first);
    const std::string grandchild = make(child);
    EXPECT_THAT(got(revoke_token(state(), first, kStateTime + kHour, soon())),
                UnorderedElementsAre(first, child, grandchild));
    EXPECT_THAT(got(revoke_token(state(), first, kStateTime + kHour, soon())), IsEmpty()) << "once";
    EXPECT_FALSE(got(find_token(state(), grandchild, soon()))->is_live(kStateTime));
    EXPECT_TRUE(got(find_token(state(), other, soon()))->is_live(kStateTime));
    EXPECT_THAT(got(list_tokens(state(), "ann", soon())), SizeIs(4)) << "people see what they had";
    const auto orphan = create_token(state(), {.user = "ann", .parent = child}, kStateTime, soon());
    ASSERT_FALSE(orphan);
    EXPECT_EQ(orphan.error().cause(), core::Cause::kDenied);
}

TEST_P(OnState, a_token_ends_no_later_than_the_one_it_was_made_with) {
    const std::string parent =
        got(create_token(state(), {.user = "ann", .scope = {.expires = kStateTime + kHour}}, kStateTime,
                         soon()))
            .id;
    EXPECT_FALSE(create_token(state(), {.user = "ann", .parent = parent}, kStateTime, soon()));
    EXPECT_FALSE(create_token(state(),
                              {.user = "ann", .scope = {.expires = kStateTime + 2 * kHour}, .parent = parent},
                              kStateTime, soon()));
    EXPECT_TRUE(create_token(state(),
                             {.user = "ann", .scope = {.expires = kStateTime + kHour}, .parent = parent},
                             kStateTime, soon()));
}

// While one is revoked, others are made with it: none of them lives on.
TEST_P(OnState, none_made_meanwhile_outlives_a_revocation) {
    const std::string parent = got(create_token(state(), {.user = "ann"}, kStateTime, soon())).id;
    std::atomic<int> begun = 0;
    std::vector<std::thread> makers;
    for (int i = 0; i < 3; ++i)
        makers.emplace_back([&, own = another()]() mutable {
            ++begun;
            // Until it is refused; where others are in the way too often, again.
            for (int made = 0; made < 10'000; ++made) {
                const auto token = create_token(own, {.user = "ann", .parent = parent}, kStateTime, soon());
                if (!token && token.error().cause() == core::Cause::kDenied) return;
            }
            ADD_FAILURE() << "the parent was never found revoked";
        });
    while (begun < 3) std::this_thread::yield();
    for (int tries = 0; tries < 100 && got(find_token(state(), parent, soon()))->is_live(kStateTime); ++tries)
        (void)revoke_token(state(), parent, kStateTime, soon());
    for (std::thread& maker : makers) maker.join();
    EXPECT_EQ(count("SELECT count(*) FROM token WHERE revoked IS NULL"), 0);
}

TEST_P(OnState, use_is_noted_once_a_minute) {
    const std::string id = got(create_token(state(), {.user = "ann"}, kStateTime, soon())).id;
    EXPECT_TRUE(got(note_token_use(state(), id, kStateTime, soon())));
    EXPECT_FALSE(got(note_token_use(state(), id, kStateTime + std::chrono::seconds(59), soon())));
    EXPECT_EQ(got(find_token(state(), id, soon()))->last_used, kStateTime);
    EXPECT_TRUE(got(note_token_use(state(), id, kStateTime + std::chrono::seconds(60), soon())));
    EXPECT_EQ(got(find_token(state(), id, soon()))->last_used, kStateTime + std::chrono::seconds(60));
    EXPECT_FALSE(got(note_token_use(state(), "none", kStateTime, soon())));
}

TEST_P(OnState, the_command_makes_a_token_and_says_so_in_the_log) {
    const auto make = [&](const TokenCommand& command) {
        return create_token_command(state(), command, kStateTime, soon());
    };
    const std::string text = got(make({.user = "ann", .role = "manager", .project = "qcd", .days = 2}));
    const auto token = parse_token(text);
    ASSERT_TRUE(token) << text;
    const auto stored = got(find_token(state(), token->id, soon()));
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->facts.role, TokenRole::kManager);
    EXPECT_EQ(stored->facts.project, "qcd");
    EXPECT_EQ(stored->facts.made_by, "");
    EXPECT_EQ(stored->facts.scope.expires, kStateTime + std::chrono::days(2));
    EXPECT_TRUE(stored->facts.scope.may_change);
    const AuditPage log = got(list_audit(state(), {}, {}, soon()));
    ASSERT_THAT(log.entries, SizeIs(1));
    EXPECT_EQ(log.entries[0].who, kOperator);
    EXPECT_EQ(log.entries[0].owner, "ann");
    EXPECT_THAT(log.entries[0].what, HasSubstr(token->id));
    EXPECT_THAT(log.entries[0].what, ::testing::Not(HasSubstr(token->secret)));

    for (const TokenCommand& wrong : {TokenCommand{.user = "ann", .role = "root"}, TokenCommand{.user = ""},
                                      TokenCommand{.user = "ann", .days = 0},
                                      TokenCommand{.user = "n1", .role = "node", .project = "qcd"}}) {
        const auto refused = make(wrong);
        ASSERT_FALSE(refused) << wrong.role;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    }
    EXPECT_TRUE(make({.user = "n1", .role = "node"}));
    EXPECT_TRUE(make({.user = "*", .role = "node"}));
    EXPECT_THAT(got(list_tokens(state(), "n1", soon())), IsEmpty()) << "a node's token is no user's";
    EXPECT_TRUE(make({.user = "ann", .is_read_only = true}));
    EXPECT_EQ(count("SELECT count(*) FROM token WHERE may_change = 0"), 1);
    EXPECT_EQ(count("SELECT count(*) FROM audit"), 4);
}

}  // namespace
}  // namespace belay::server
