#include "server/login/token_routes.h"

#include "server/login/testing.h"
#include "server/state/audit_store.h"

#include <chrono>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST_P(OnLogin, people_make_see_and_end_their_tokens) {
    const std::string first = token_for({.user = "ann"});
    const http::Response made =
        answer_post("/api/v1/tokens", bearing(first), R"({"label":"laptop","read_only":true,"days":3})");
    ASSERT_EQ(made.status, 201) << body_of(made);
    const auto json = json_of(made);
    const std::string text = json.at("token").get<std::string>(), id = json.at("id").get<std::string>();
    EXPECT_EQ(json.at("user"), "ann");
    EXPECT_EQ(json.at("label"), "laptop");
    EXPECT_EQ(json.at("read_only"), true);
    EXPECT_EQ(json.at("expires"), core::format_time(kStateTime + std::chrono::days(3)));
    const auto caller = check(get_of("/", bearing(text)));
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->identity.user, "ann");
    EXPECT_FALSE(caller->identity.scope.may_change);
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(text), "{}").status, 403) << "it only reads";

    const http::Response list = answer_get("/api/v1/tokens", bearing(first));
    ASSERT_EQ(list.status, 200);
    EXPECT_THAT(json_of(list).at("tokens"), SizeIs(2));
    EXPECT_THAT(body_of(list), Not(HasSubstr(parse_token(text)->secret)));

    const auto end = [&](const std::string& which, const std::string& token) {
        return answer(request_of(http::Method::kDelete, "/api/v1/tokens/" + which, bearing(token))).status;
    };
    EXPECT_EQ(end("0123456789abcdef", first), 404);
    EXPECT_EQ(end(parse_token(first)->id, text), 403) << "one that only reads ends no others,";
    EXPECT_EQ(end(id, text), 204) << "but itself";
    EXPECT_EQ(status(get_of("/", bearing(text))), 401) << "at once";
    EXPECT_EQ(end(id, first), 404) << "it has ended";
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE what LIKE 'token.create%' AND who = 'ann'"), 1);
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE what LIKE 'token.revoke%' AND who = 'ann'"), 1);
}

TEST_P(OnLogin, tokens_of_others_are_not_there) {
    const std::string ann = token_for({.user = "ann"}), bob = token_for({.user = "bob"});
    const std::string sue = token_for({.role = TokenRole::kStaff, .user = "sue"});
    const auto end = [&](const std::string& which, const std::string& token) {
        return answer(request_of(http::Method::kDelete, "/api/v1/tokens/" + parse_token(which)->id,
                                 bearing(token)))
            .status;
    };
    EXPECT_EQ(end(ann, bob), 404);
    EXPECT_EQ(answer_get("/api/v1/tokens?user=ann", bearing(bob)).status, 404);
    EXPECT_EQ(answer_get("/api/v1/tokens?user=nobody", bearing(bob)).status, 404) << "alike";
    EXPECT_EQ(answer_get("/api/v1/tokens?user=bob", bearing(bob)).status, 200);
    EXPECT_EQ(count("SELECT count(*) FROM audit"), 0);

    const http::Response seen = answer_get("/api/v1/tokens?user=ann", bearing(sue));
    EXPECT_EQ(seen.status, 200);
    EXPECT_THAT(json_of(seen).at("tokens"), SizeIs(1));
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE who = 'sue' AND owner_name = 'ann' AND what = "
                    "'token.list' AND peer = ?",
                    {kPeer}),
              1);
    EXPECT_EQ(status(get_of("/", bearing(ann))), 200);
    EXPECT_EQ(end(ann, sue), 204);
    EXPECT_EQ(status(get_of("/", bearing(ann))), 401);
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE who = 'sue' AND owner_name = 'ann' AND what LIKE "
                    "'token.revoke%'"),
              1);
}

TEST_P(OnLogin, with_a_token_nobody_gets_more_than_it_allows) {
    ASSERT_TRUE(replace_accounts(
        state(), {.accounts = {{"qcd"}, {"bio"}}, .members = {{"qcd", "mia", true}, {"bio", "mia", false}}},
        soon()));
    const std::string user = token_for({.user = "mia"});
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(user), R"({"role":"manager"})").status, 403);
    const std::string manager = token_for({.role = TokenRole::kManager, .user = "mia"});
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(manager), R"({"role":"staff"})").status, 403);
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(manager), R"({"role":"node"})").status, 403);
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(manager), R"({"role":"manager","project":"bio"})").status,
              403);
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(manager), R"({"user":"ann"})").status, 400)
        << "only for themselves";
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(manager), R"({"label":"a\u0000b"})").status, 400);
    const auto made =
        json_of(answer_post("/api/v1/tokens", bearing(manager), R"({"role":"manager","project":"qcd"})"));
    const std::string narrow = made.at("token").get<std::string>();
    const auto wider = json_of(answer_post("/api/v1/tokens", bearing(narrow), R"({"role":"user"})"));
    const auto caller = check(get_of("/", bearing(wider.at("token").get<std::string>())));
    ASSERT_TRUE(caller);
    EXPECT_THAT(caller->identity.member_of, ::testing::ElementsAre("qcd"))
        << "what limited its parent limits it";

    ASSERT_TRUE(replace_accounts(state(), {.accounts = {{"qcd"}}, .members = {}}, soon()));
    clock.advance(std::chrono::seconds(10));
    EXPECT_THAT(check(get_of("/", bearing(narrow)))->identity.manages, ::testing::IsEmpty())
        << "she does not manage it now";

    const auto ended = answer(
        request_of(http::Method::kDelete, "/api/v1/tokens/" + parse_token(manager)->id, bearing(manager)));
    EXPECT_EQ(ended.status, 204);
    for (const std::string& token : {manager, narrow, wider.at("token").get<std::string>()})
        EXPECT_EQ(status(get_of("/", bearing(token))), 401) << "all that were made with it";
    EXPECT_EQ(status(get_of("/", bearing(user))), 200);
}

TEST_P(OnLogin, a_token_for_one_job_and_one_of_a_node_show_no_tokens) {
    const std::string job = token_for({.user = "ann", .scope = {.job = "c/1"}});
    EXPECT_EQ(answer_get("/api/v1/tokens", bearing(job)).status, 403);
    const http::Response made = answer_post("/api/v1/tokens", bearing(job), "{}");
    ASSERT_EQ(made.status, 201);
    EXPECT_EQ(json_of(made).at("job"), "c/1");
    const std::string node = token_for({.role = TokenRole::kNode, .user = "n1"});
    EXPECT_EQ(answer_get("/api/v1/tokens", bearing(node)).status, 403);
    EXPECT_EQ(answer_post("/api/v1/tokens", bearing(node), "{}").status, 403);
    const auto me = json_of(answer_get("/api/v1/me", bearing(node)));
    EXPECT_EQ(me.at("node"), "n1");
    EXPECT_EQ(me.at("user"), nullptr);
    EXPECT_EQ(answer_get("/api/v1/me").status, 401);
    EXPECT_EQ(answer_post("/api/v1/tokens", {}, "{}").status, 401);
}

}  // namespace
}  // namespace belay::server
