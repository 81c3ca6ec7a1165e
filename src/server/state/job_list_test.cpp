#include "server/state/job_list.h"

#include "server/state/account_store.h"
#include "server/state/testing.h"

#include <random>
#include <set>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const JobFilter kAll{.all = true};

std::vector<std::string> keys_of(const JobPage& page) {
    std::vector<std::string> keys;
    for (const Job& job : page.jobs) keys.push_back(job.key);
    return keys;
}
std::vector<std::string> keys_for(database::Database& database, const JobFilter& filter,
                                  const JobConditions& conditions = {}) {
    return keys_of(got(list_jobs(database, filter, conditions, {.size = 1000}, soon())));
}
// Page by page.
std::vector<std::string> all_keys(database::Database& database, const JobFilter& filter, size_t size) {
    std::vector<std::string> keys;
    Page page{.size = size};
    for (int pages = 0; pages < 10'000; ++pages) {
        const JobPage found = got(list_jobs(database, filter, {}, page, soon()));
        for (const Job& job : found.jobs) keys.push_back(job.key);
        EXPECT_LE(found.jobs.size(), size);
        if (found.next.empty()) return keys;
        EXPECT_EQ(found.jobs.size(), size) << "a page before the last one is full";
        page.cursor = found.next;
    }
    ADD_FAILURE() << "the pages do not end";
    return keys;
}

TEST_P(OnState, jobs_are_listed_newest_first_and_page_by_page) {
    for (int i = 1; i <= 25; ++i) put(job_number(i, "ann"));
    Job same = job_number(26, "ann");
    same.submit = kStateTime + std::chrono::minutes(25);  // of the same moment as another one
    put(same);
    const auto whole = keys_for(state(), kAll);
    ASSERT_EQ(whole.size(), 26U);
    EXPECT_EQ(whole[0], "c/26");
    EXPECT_EQ(whole[1], "c/25");
    EXPECT_EQ(whole.back(), "c/1");
    for (size_t size : {1U, 2U, 5U, 13U, 26U, 100U}) EXPECT_EQ(all_keys(state(), kAll, size), whole) << size;
}

TEST_P(OnState, conditions_narrow_the_list) {
    Job first = job_number(1, "ann", "qcd");
    first.nodes = {"n1", "n2"};
    first.slurm_state = "FAILED";
    first.name = "train_50%!";
    put(first);
    Job second = job_number(2, "bob", "bio");
    second.nodes = {"n2"};
    second.name = "train_50x";
    put(second);
    put(job_number(3, "bob"));
    const auto keys = [&](const JobConditions& conditions) { return keys_for(state(), kAll, conditions); };
    EXPECT_THAT(keys({.user = "bob"}), ElementsAre("c/3", "c/2"));
    EXPECT_THAT(keys({.account = "qcd"}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.state = "FAILED"}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.node = "n2"}), ElementsAre("c/2", "c/1"));
    EXPECT_THAT(keys({.node = "n1"}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.since = kStateTime + std::chrono::minutes(2)}), ElementsAre("c/3", "c/2"));
    EXPECT_THAT(keys({.until = kStateTime + std::chrono::minutes(2)}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.text = "train"}), ElementsAre("c/2", "c/1"));
    EXPECT_THAT(keys({.text = "50%"}), ElementsAre("c/1")) << "% is no pattern";
    EXPECT_THAT(keys({.text = "n_5"}), ElementsAre("c/2", "c/1"));
    EXPECT_THAT(keys({.text = "n!5"}), IsEmpty());
    EXPECT_THAT(keys({.text = "0%!"}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.user = "bob", .node = "n2"}), ElementsAre("c/2"));
    EXPECT_THAT(keys({.user = "' OR 1=1 --"}), IsEmpty());
}

TEST_P(OnState, pages_and_cursors_that_cannot_be_are_refused) {
    const auto refused = [&](const Page& page) {
        const auto listed = list_jobs(state(), kAll, {}, page, soon());
        return !listed && listed.error().kind() == core::ErrorKind::kBadInput;
    };
    EXPECT_TRUE(refused({.size = 0}));
    EXPECT_TRUE(refused({.size = 1001}));
    for (const char* cursor : {"x", "MSA1", "MSBhIGI", "!", "MiA1IGI", "MSA1IP8"})
        EXPECT_TRUE(refused({.cursor = cursor})) << cursor;
    EXPECT_TRUE(refused({.cursor = std::string(5000, 'A')}));
    std::set<std::string> many;
    for (int i = 0; i < 9000; ++i) many.insert("a" + std::to_string(i));
    EXPECT_FALSE(list_jobs(state(), {.accounts = many}, {}, {}, soon()));
}

// physics ── lattice ── qcd;  bio
TEST_P(OnState, a_filter_gives_what_may_be_seen_and_nothing_else) {
    ASSERT_TRUE(replace_accounts(
        state(),
        {.accounts = {{"physics"}, {"lattice", "physics"}, {"qcd", "lattice"}, {"bio"}}, .members = {}},
        soon()));
    put(job_number(1, "ann", "qcd"));
    put(job_number(2, "bob", "qcd"));
    Job shared = job_number(3, "bob", "qcd");
    shared.sharing = Sharing::kProject;
    put(shared);
    put(job_number(4, "bob", "bio"));
    put(job_number(5, "", ""));
    const AccountTree tree = got(load_accounts(state(), soon()));
    const auto keys = [&](const Identity& identity) {
        return keys_for(state(), tree.expanded(filter_for(identity, kStateTime)));
    };
    EXPECT_THAT(keys({.user = "ann"}), ElementsAre("c/1"));
    EXPECT_THAT(keys({.user = "ann", .member_of = {"qcd"}}), ElementsAre("c/3", "c/1"));
    EXPECT_THAT(keys({.user = "eve", .member_of = {"lattice"}}), IsEmpty()) << "membership does not go down";
    EXPECT_THAT(keys({.user = "mia", .manages = {"lattice"}}), ElementsAre("c/3", "c/2", "c/1"));
    EXPECT_THAT(keys({.user = "mia", .manages = {"bio", "qcd"}}), ElementsAre("c/4", "c/3", "c/2", "c/1"));
    EXPECT_THAT(keys({.user = "sue", .is_staff = true}), ElementsAre("c/5", "c/4", "c/3", "c/2", "c/1"));
    EXPECT_THAT(keys({.user = "sue", .is_staff = true, .scope = {.job = "c/2"}}), ElementsAre("c/2"));
    EXPECT_THAT(keys({.user = "ann", .scope = {.job = "c/2"}}), IsEmpty());
    EXPECT_THAT(keys({.user = "sue", .is_staff = true, .scope = {.expires = kStateTime}}), IsEmpty());
    EXPECT_THAT(keys({}), IsEmpty()) << "a job without an owner is not everybody's";
    EXPECT_THAT(keys({.user = "eve", .member_of = {""}, .manages = {""}}), IsEmpty());
}

// What the query gives is what decide() allows, for random people and jobs.
TEST_P(OnState, the_query_and_the_policy_agree) {
    std::mt19937 random(7);
    const auto project = [&] { return "p" + std::to_string(random() % 12); };
    AccountRows rows;
    for (int i = 0; i < 12; ++i)
        rows.accounts.push_back(
            {"p" + std::to_string(i),
             i % 3 == 0 ? "" : "p" + std::to_string(random() % static_cast<unsigned>(i))});
    ASSERT_TRUE(replace_accounts(state(), rows, soon()));
    const AccountTree tree = got(load_accounts(state(), soon()));
    std::vector<Job> jobs;
    for (int i = 0; i < 120; ++i) {
        Job job = job_number(i, "u" + std::to_string(random() % 10), random() % 8 == 0 ? "" : project());
        if (random() % 3 == 0) job.sharing = Sharing::kProject;
        put(job);
        jobs.push_back(std::move(job));
    }
    size_t seen = 0;
    for (int i = 0; i < 60; ++i) {
        Identity who{.user = "u" + std::to_string(random() % 14), .is_staff = random() % 20 == 0};
        for (unsigned k = random() % 3; k > 0; --k) who.member_of.insert(project());
        if (random() % 3 == 0) who.manages.insert(project());
        if (random() % 10 == 0) who.scope.job = "c/" + std::to_string(random() % 120);
        std::set<std::string> allowed;
        for (const Job& job : jobs)
            if (decide(who, facts_of(job), Wish::kSeeJob, tree.accounts(), kStateTime).is_allowed)
                allowed.insert(job.key);
        const auto keys = all_keys(state(), tree.expanded(filter_for(who, kStateTime)), 7);
        EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), allowed) << who.user;
        EXPECT_EQ(keys.size(), allowed.size()) << "none twice";
        seen += allowed.size();
    }
    EXPECT_GT(seen, 500U);
}

}  // namespace
}  // namespace belay::server
