#include "server/state/account_store.h"

#include "server/state/testing.h"

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_P(OnState, accounts_are_replaced_as_a_whole) {
    ASSERT_TRUE(replace_accounts(
        state(),
        {.accounts = {{"physics"}, {"qcd", "physics"}},
         .members = {{"qcd", "ann", false}, {"physics", "ann", true}, {"qcd", "bob", false}}},
        soon()));
    const Identity ann = got(identity_of(state(), "ann", soon()));
    EXPECT_EQ(ann.user, "ann");
    EXPECT_FALSE(ann.is_staff);
    EXPECT_THAT(ann.member_of, UnorderedElementsAre("qcd", "physics"));
    EXPECT_THAT(ann.manages, UnorderedElementsAre("physics"));
    const AccountTree tree = got(load_accounts(state(), soon()));
    EXPECT_TRUE(tree.accounts().covers("physics", "qcd"));
    EXPECT_THAT(tree.expanded({.accounts = {"physics"}, .shared_in = {"physics"}}).accounts,
                UnorderedElementsAre("physics", "qcd"));
    EXPECT_THAT(tree.expanded({.shared_in = {"physics"}}).shared_in, UnorderedElementsAre("physics"));
    EXPECT_THAT(tree.expanded({.accounts = {"unknown"}}).accounts, UnorderedElementsAre("unknown"))
        << "as a job may name it";

    const auto refused = replace_accounts(state(), {.accounts = {{"bio"}, {"a b"}}, .members = {}}, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(got(identity_of(state(), "bob", soon())).member_of, UnorderedElementsAre("qcd"))
        << "nothing changed";

    ASSERT_TRUE(
        replace_accounts(state(), {.accounts = {{"bio"}}, .members = {{"bio", "bob", false}}}, soon()));
    EXPECT_THAT(got(identity_of(state(), "ann", soon())).member_of, IsEmpty());
    EXPECT_THAT(got(identity_of(state(), "bob", soon())).member_of, UnorderedElementsAre("bio"));
    EXPECT_FALSE(got(load_accounts(state(), soon())).accounts().covers("physics", "qcd"));
    EXPECT_THAT(got(identity_of(state(), "", soon())).member_of, IsEmpty());
}

TEST_P(OnState, a_large_site_fits) {
    AccountRows rows;
    for (int i = 0; i < 2000; ++i) {
        const std::string project = "p" + std::to_string(i);
        rows.accounts.push_back({project, i == 0 ? "" : "p0"});
        for (int k = 0; k < 6; ++k)
            rows.members.push_back({project, "u" + std::to_string((i + k * 7) % 3000), k == 0});
    }
    rows.accounts.push_back({"p1", "p2"});  // twice: the later one counts
    ASSERT_TRUE(replace_accounts(state(), rows, soon()));
    EXPECT_EQ(count("SELECT count(*) FROM account"), 2000);
    EXPECT_EQ(count("SELECT count(*) FROM account_member"), 12'000);
    EXPECT_TRUE(got(load_accounts(state(), soon())).accounts().covers("p2", "p1"));
    EXPECT_EQ(got(load_accounts(state(), soon())).expanded({.accounts = {"p0"}}).accounts.size(), 2000U);
}

}  // namespace
}  // namespace belay::server
