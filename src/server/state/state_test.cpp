// The schema: made step by step, and refused where a newer version has been there.
#include "server/state/names.h"
#include "server/state/node_store.h"
#include "server/state/schema.h"
#include "server/state/testing.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::HasSubstr;

std::string engine_of(const ::testing::TestParamInfo<database::Engine>& info) {
    return info.param == database::Engine::kSqlite ? "sqlite" : "postgresql";
}
INSTANTIATE_TEST_SUITE_P(server_state, OnState,
                         ::testing::Values(database::Engine::kSqlite, database::Engine::kPostgres),
                         engine_of);

// As the database was left by each version before this one.
class OnOlderState : public database::OnEngine {};
INSTANTIATE_TEST_SUITE_P(server_state, OnOlderState,
                         ::testing::Values(database::Engine::kSqlite, database::Engine::kPostgres),
                         engine_of);

TEST_P(OnOlderState, is_brought_up_to_date_and_keeps_what_it_holds) {
    {
        database::Database old = open();
        ASSERT_TRUE(database::migrate(old, std::span(kStateMigrations).first(2), soon()));
        ASSERT_TRUE(put_job(old, job_number(7, "ann", "qcd"), kStateTime, soon()));
    }
    auto opened = open_state(place(), soon());
    ASSERT_TRUE(opened) << opened.error().render();
    EXPECT_EQ(got(find_job(*opened, "c/7", soon()))->user, "ann");
    EXPECT_EQ(database::number_of(*opened, "SELECT max(number) FROM belay_migration"),
              static_cast<int64_t>(kStateMigrations.size()));
    EXPECT_TRUE(open_state(place(), soon())) << "again, with nothing to do";
}

TEST_P(OnOlderState, of_a_newer_version_is_refused) {
    std::vector<database::Migration> newer(kStateMigrations.begin(), kStateMigrations.end());
    newer.push_back({static_cast<int64_t>(newer.size()) + 1, "what comes next",
                     "CREATE TABLE later (x {int64}) {strict}"});
    {
        database::Database database = open();
        ASSERT_TRUE(database::migrate(database, newer, soon()));
    }
    const auto refused = open_state(place(), soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message(), HasSubstr("what comes next"));
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("a newer version has used this database"));
}

TEST_P(OnOlderState, each_step_of_the_way_leads_to_the_same_end) {
    database::Database database = open();
    for (size_t steps = 1; steps <= kStateMigrations.size(); ++steps) {
        const auto done = database::migrate(database, std::span(kStateMigrations).first(steps), soon());
        ASSERT_TRUE(done) << done.error().render();
    }
    EXPECT_TRUE(open_state(place(), soon()));
}

TEST_P(OnState, a_setting_is_made_once_by_the_first_who_asks) {
    std::vector<std::string> given(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < given.size(); ++i)
        threads.emplace_back([&, i, own = another()]() mutable {
            const auto make = [i]() -> core::Result<std::string> { return "site-" + std::to_string(i); };
            given[i] = setting_or_make(own, "site", make, soon()).value_or("failed");
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(given, ::testing::Each(given.front()));
    EXPECT_THAT(given.front(), ::testing::StartsWith("site-"));
    EXPECT_EQ(got(find_setting(state(), "site", soon())), given.front());
    ASSERT_TRUE(put_setting(state(), "site", "other", soon()));
    EXPECT_EQ(got(find_setting(state(), "site", soon())), "other");
    EXPECT_FALSE(got(find_setting(state(), "nothing", soon())));
}

TEST_P(OnState, nodes_are_known_by_cluster_and_name) {
    ASSERT_TRUE(put_node(state(), {.cluster = "c", .name = "n1", .token_id = "t1"}, kStateTime, soon()));
    ASSERT_TRUE(note_upload(state(), "c", "n2", kStateTime, soon()));
    const core::Time later = kStateTime + std::chrono::minutes(5);
    ASSERT_TRUE(note_upload(state(), "c", "n1", later, soon()));
    ASSERT_TRUE(note_upload(state(), "c", "n1", kStateTime, soon())) << "an older one, which came late";
    ASSERT_TRUE(put_node(state(), {.cluster = "c", .name = "n1", .token_id = "t2"}, later, soon()));
    const auto node = got(find_node(state(), "c", "n1", soon()));
    ASSERT_TRUE(node);
    EXPECT_EQ(node->token_id, "t2");
    EXPECT_EQ(node->first_seen, kStateTime);
    EXPECT_EQ(node->last_upload, later);
    EXPECT_EQ(got(list_nodes(state(), soon())).size(), 2U);
    EXPECT_FALSE(got(find_node(state(), "d", "n1", soon())));
    EXPECT_FALSE(put_node(state(), {.cluster = "c", .name = "n1,n2"}, kStateTime, soon()));
}

TEST(server_state, names_are_plain) {
    for (const char* name : {"ann", "ann.b", "a_b-c", "m$", "ann@example.org", "0"})
        EXPECT_TRUE(is_plain_name(name));
    for (const std::string& name :
         {std::string(), std::string("-rf"), std::string("a b"), std::string("a\nb"), std::string("аnn"),
          std::string("a/b"), std::string("(erased)"), std::string(256, 'a'), std::string("a\0b", 3)})
        EXPECT_FALSE(is_plain_name(name)) << name;
    EXPECT_TRUE(check_readable("Zürich 山", "label", 100));
    EXPECT_FALSE(check_readable("a\x1b[2J", "label", 100));
    EXPECT_FALSE(check_readable("a\xff", "label", 100));
    EXPECT_FALSE(check_readable("abc", "label", 2));
}

}  // namespace
}  // namespace belay::server
