#include "server/login/token_request.h"

#include "server/login/testing.h"

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using ::testing::HasSubstr;

Caller manager_of_qcd() {
    return {
        .identity = {.user = "mia", .proof = Proof::kMunge, .member_of = {"qcd", "bio"}, .manages = {"qcd"}}};
}
http::Checked<TokenFacts> grant(const TokenWish& wish, const Caller& caller) {
    return granted(wish, caller, {}, kStateTime);
}

TEST(server_login, wishes_are_read_and_misspelt_limits_refused) {
    const auto wish = parse_token_wish(
        R"({"label":"x","role":"manager","project":"qcd","read_only":true,"job":"c/7","days":3})");
    ASSERT_TRUE(wish);
    EXPECT_EQ(wish->label, "x");
    EXPECT_EQ(wish->role, TokenRole::kManager);
    EXPECT_EQ(wish->project, "qcd");
    EXPECT_TRUE(wish->is_read_only);
    EXPECT_EQ(wish->job, "c/7");
    EXPECT_EQ(wish->days, 3);
    EXPECT_TRUE(parse_token_wish(""));
    EXPECT_TRUE(parse_token_wish("{}"));
    for (const char* body : {"[]", "x", "1", R"({"readonly":true})", R"({"read_only":"yes"})",
                             R"({"days":"3"})", R"({"days":1.5})", R"({"days":99999999999})",
                             R"({"role":"root"})", R"({"label":null})", R"({"role":1})"}) {
        const auto refused = parse_token_wish(body);
        EXPECT_EQ(status_of(refused), 400) << body;
    }
}

TEST(server_login, a_token_is_what_its_maker_is_or_less) {
    const auto plain = grant({.label = "laptop"}, manager_of_qcd());
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->user, "mia");
    EXPECT_EQ(plain->made_by, "mia");
    EXPECT_EQ(plain->role, TokenRole::kUser);
    EXPECT_EQ(plain->project, "");
    EXPECT_TRUE(plain->scope.may_change);
    EXPECT_EQ(plain->scope.expires, kStateTime + std::chrono::days(90));
    EXPECT_EQ(grant({.role = TokenRole::kManager, .project = "qcd"}, manager_of_qcd())->project, "qcd");
    EXPECT_EQ(grant({.project = "bio"}, manager_of_qcd())->project, "bio");
    EXPECT_EQ(grant({.job = "c/7"}, manager_of_qcd())->scope.job, "c/7");
    EXPECT_FALSE(grant({.is_read_only = true}, manager_of_qcd())->scope.may_change);

    EXPECT_EQ(status_of(grant({.role = TokenRole::kManager, .project = "bio"}, manager_of_qcd())), 403);
    EXPECT_EQ(status_of(grant({.project = "physics"}, manager_of_qcd())), 403);
    EXPECT_EQ(
        status_of(grant({.role = TokenRole::kManager}, {.identity = {.user = "ann", .member_of = {"qcd"}}})),
        403);
    EXPECT_EQ(status_of(grant({.days = 0}, manager_of_qcd())), 400);
    EXPECT_EQ(status_of(grant({.days = 367}, manager_of_qcd())), 400);
    for (const TokenRole role : {TokenRole::kStaff, TokenRole::kNode})
        EXPECT_EQ(status_of(grant({.role = role}, {.identity = {.user = "sue", .is_staff = true}})), 403);
    const auto staff = grant({}, {.identity = {.user = "sue", .is_staff = true}});
    EXPECT_EQ(staff->role, TokenRole::kUser) << "less than she is";
}

TEST(server_login, a_token_made_with_a_token_keeps_its_limits) {
    Caller caller = manager_of_qcd();
    caller.identity.proof = Proof::kToken;
    caller.identity.member_of = caller.identity.manages = {"qcd"};
    caller.identity.scope = {.job = "c/7", .expires = kStateTime + std::chrono::hours(1)};
    caller.token = "0123456789abcdef";
    caller.project = "qcd";
    const auto child = grant({.days = 30}, caller);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->project, "qcd") << "also where none was asked for";
    EXPECT_EQ(child->scope.job, "c/7");
    EXPECT_EQ(child->scope.expires, kStateTime + std::chrono::hours(1));
    EXPECT_EQ(child->parent, "0123456789abcdef");
    EXPECT_EQ(status_of(grant({.job = "c/8"}, caller)), 403);
    EXPECT_EQ(status_of(grant({.project = "bio"}, caller)), 403);
    caller.identity.scope.may_change = false;
    EXPECT_EQ(status_of(grant({.is_read_only = true}, caller)), 403);
    EXPECT_EQ(status_of(grant({}, {.identity = {.user = "ann", .proof = Proof::kLink}})), 403);
    EXPECT_EQ(status_of(grant({}, {.node = "n1", .token = "t"})), 403);
    EXPECT_EQ(status_of(grant({}, {})), 403);
}

}  // namespace
}  // namespace belay::server
