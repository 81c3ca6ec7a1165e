#include "server/access/policy.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

const core::Time kAsked = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// physics ── lattice ── qcd;  biology
Accounts accounts() {
    Accounts accounts;
    accounts.set_parent("qcd", "lattice");
    accounts.set_parent("lattice", "physics");
    return accounts;
}
JobFacts job_of(const std::string& owner, const std::string& account, Sharing sharing = Sharing::kOwner) {
    return {.key = "c/7", .owner = owner, .account = account, .sharing = sharing};
}
bool sees(const Identity& identity, const JobFacts& job, Wish wish = Wish::kSeeJob) {
    return decide(identity, job, wish, accounts(), kAsked).is_allowed;
}

TEST(server_access, a_user_sees_their_own_jobs_and_nobody_elses) {
    const Identity ann{.user = "ann", .member_of = {"qcd"}};
    EXPECT_TRUE(sees(ann, job_of("ann", "qcd")));
    EXPECT_TRUE(sees(ann, job_of("ann", "qcd"), Wish::kChangeJob));
    EXPECT_TRUE(sees(ann, job_of("ann", "qcd"), Wish::kSeeLastWords));
    EXPECT_FALSE(sees(ann, job_of("bob", "qcd")));
    EXPECT_FALSE(sees({}, job_of("", ""))) << "a job without an owner is not everybody's";
}

TEST(server_access, members_see_what_is_shared_with_their_project) {
    const Identity ann{.user = "ann", .member_of = {"qcd"}};
    const JobFacts shared = job_of("bob", "qcd", Sharing::kProject);
    EXPECT_TRUE(sees(ann, shared));
    EXPECT_FALSE(sees(ann, shared, Wish::kChangeJob));
    EXPECT_FALSE(sees(ann, shared, Wish::kSeeLastWords)) << "those are shared by themselves";
    EXPECT_FALSE(sees(ann, job_of("bob", "lattice", Sharing::kProject))) << "membership does not go up";
    EXPECT_FALSE(sees({.user = "eve", .member_of = {"lattice"}}, shared)) << "nor down";
    EXPECT_TRUE(decide_project(ann, "qcd", accounts(), kAsked).is_allowed);
    EXPECT_FALSE(decide_project(ann, "lattice", accounts(), kAsked).is_allowed);
}

TEST(server_access, managers_see_their_project_and_all_below) {
    const Identity mia{.user = "mia", .manages = {"lattice"}};
    EXPECT_TRUE(sees(mia, job_of("bob", "lattice")));
    EXPECT_TRUE(sees(mia, job_of("bob", "qcd")));
    EXPECT_FALSE(sees(mia, job_of("bob", "physics")));
    EXPECT_FALSE(sees(mia, job_of("bob", "biology")));
    EXPECT_FALSE(sees(mia, job_of("bob", "")));
    EXPECT_FALSE(sees(mia, job_of("bob", "qcd"), Wish::kChangeJob));
    EXPECT_FALSE(sees(mia, job_of("bob", "qcd"), Wish::kSeeLastWords));
    EXPECT_FALSE(decide(mia, job_of("bob", "qcd"), Wish::kSeeJob, accounts(), kAsked).is_audited);
    EXPECT_FALSE(decide_operation(mia, kAsked).is_allowed);
}

TEST(server_access, staff_see_all_and_it_is_written_down) {
    const Identity sue{.user = "sue", .is_staff = true};
    const Decision decision = decide(sue, job_of("bob", "qcd"), Wish::kSeeJob, accounts(), kAsked);
    EXPECT_TRUE(decision.is_allowed);
    EXPECT_TRUE(decision.is_audited);
    EXPECT_FALSE(decide(sue, job_of("sue", "qcd"), Wish::kSeeJob, accounts(), kAsked).is_audited)
        << "her own";
    EXPECT_FALSE(sees(sue, job_of("bob", "qcd"), Wish::kChangeJob));
    EXPECT_FALSE(sees(sue, job_of("bob", "qcd"), Wish::kSeeLastWords));
    EXPECT_TRUE(decide_operation(sue, kAsked).is_audited);
}

TEST(server_access, a_token_allows_no_more_than_its_scope) {
    Identity ann{.user = "ann",
                 .member_of = {"qcd"},
                 .scope = {.may_change = false, .job = "c/7", .expires = kAsked + std::chrono::hours(1)}};
    const JobFacts job = job_of("ann", "qcd");
    EXPECT_TRUE(sees(ann, job));
    EXPECT_FALSE(sees(ann, job, Wish::kChangeJob));
    JobFacts other = job;
    other.key = "c/8";
    EXPECT_FALSE(sees(ann, other));
    EXPECT_FALSE(decide_project(ann, "qcd", accounts(), kAsked).is_allowed);
    ann.scope.expires = kAsked;
    EXPECT_FALSE(sees(ann, job)) << "expired now";
    EXPECT_TRUE(filter_for(ann, kAsked).owner.empty());
    Identity sue{.user = "sue", .proof = Proof::kLink, .is_staff = true};
    EXPECT_FALSE(decide_operation(sue, kAsked).is_allowed) << "a link to a page is not an operator";
}

TEST(server_access, a_link_shows_no_last_words_that_are_not_shared_and_makes_no_links) {
    Identity link{.user = "ann", .proof = Proof::kLink, .scope = {.may_change = false, .job = "c/7"}};
    JobFacts job = job_of("ann", "qcd");
    EXPECT_TRUE(sees(link, job));
    EXPECT_FALSE(sees(link, job, Wish::kSeeLastWords));
    job.shares_last_words = true;
    EXPECT_TRUE(sees(link, job, Wish::kSeeLastWords));
    link.scope.may_change = true;
    EXPECT_FALSE(sees(link, job, Wish::kLinkJob));
    EXPECT_TRUE(sees({.user = "ann"}, job, Wish::kLinkJob));
    EXPECT_FALSE(sees({.user = "ann", .scope = {.may_change = false}}, job, Wish::kLinkJob));
    EXPECT_FALSE(sees({.user = "bob"}, job, Wish::kLinkJob));
}

TEST(server_access, what_is_kept_of_a_person_is_theirs_and_staffs) {
    EXPECT_TRUE(decide_person({.user = "ann"}, "ann", kAsked).is_allowed);
    EXPECT_FALSE(decide_person({.user = "ann"}, "ann", kAsked).is_audited);
    EXPECT_FALSE(decide_person({.user = "ann"}, "bob", kAsked).is_allowed);
    EXPECT_FALSE(decide_person({}, "", kAsked).is_allowed);
    EXPECT_FALSE(decide_person({.user = "ann", .proof = Proof::kLink}, "ann", kAsked).is_allowed);
    EXPECT_FALSE(decide_person({.user = "ann", .scope = {.job = "c/7"}}, "ann", kAsked).is_allowed);
    EXPECT_FALSE(decide_person({.user = "ann", .scope = {.expires = kAsked}}, "ann", kAsked).is_allowed);
    EXPECT_TRUE(decide_person({.user = "sue", .is_staff = true}, "bob", kAsked).is_audited);
}

TEST(server_access, a_ring_of_accounts_ends) {
    Accounts ring;
    ring.set_parent("a", "b");
    ring.set_parent("b", "a");
    EXPECT_TRUE(ring.covers("b", "a"));
    EXPECT_FALSE(ring.covers("c", "a"));
    EXPECT_FALSE(ring.covers("", ""));
}

// Said once more, in other words: by sets instead of by steps.
bool is_allowed_by_the_book(const Identity& who, const JobFacts& job,
                            const std::map<std::string, std::set<std::string>>& ancestors) {
    if (who.user == job.owner) return true;
    if (who.is_staff) return true;
    if (job.sharing == Sharing::kProject && who.member_of.contains(job.account)) return true;
    for (const std::string& account : who.manages)
        if (account == job.account || ancestors.at(job.account).contains(account)) return true;
    return false;
}

TEST(server_access, of_eighty_projects_and_two_thousand_users_each_sees_what_the_rules_say) {
    std::mt19937 random(4);
    Accounts accounts;
    std::map<std::string, std::set<std::string>> ancestors;
    for (int i = 0; i < 80; ++i) {
        const std::string name = "p" + std::to_string(i);
        ancestors[name];
        if (i == 0 || random() % 4 == 0) continue;
        const std::string parent = "p" + std::to_string(random() % static_cast<unsigned>(i));
        accounts.set_parent(name, parent);
        ancestors[name] = ancestors[parent];
        ancestors[name].insert(parent);
    }
    const auto project = [&] { return "p" + std::to_string(random() % 80); };
    int allowed = 0, decided = 0;
    for (int i = 0; i < 2000; ++i) {
        Identity who{.user = "u" + std::to_string(i), .is_staff = random() % 200 == 0};
        for (unsigned k = random() % 3; k > 0; --k) who.member_of.insert(project());
        if (random() % 10 == 0) who.manages.insert(project());
        const JobFilter filter = filter_for(who, kAsked);
        for (int k = 0; k < 50; ++k) {
            const JobFacts job = job_of("u" + std::to_string(random() % 2000), project(),
                                        random() % 3 == 0 ? Sharing::kProject : Sharing::kOwner);
            const bool is_allowed = decide(who, job, Wish::kSeeJob, accounts, kAsked).is_allowed;
            ASSERT_EQ(is_allowed, is_allowed_by_the_book(who, job, ancestors)) << who.user;
            const bool is_found =
                filter.all || filter.owner == job.owner ||
                accounts.any_covers(filter.accounts, job.account) ||
                (job.sharing == Sharing::kProject && filter.shared_in.contains(job.account));
            ASSERT_EQ(is_found, is_allowed) << "a query finds what may be seen";
            allowed += is_allowed ? 1 : 0;
            ++decided;
        }
    }
    EXPECT_GT(allowed, 500);
    EXPECT_LT(allowed, decided / 4);
}

}  // namespace
}  // namespace belay::server
