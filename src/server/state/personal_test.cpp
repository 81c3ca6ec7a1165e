// What is kept of a person: given to them, and erased.
#include "core/json.h"
#include "server/state/account_store.h"
#include "server/state/audit_store.h"
#include "server/state/erase_user.h"
#include "server/state/export_user.h"
#include "server/state/job_list.h"
#include "server/state/link_store.h"
#include "server/state/session_store.h"
#include "server/state/testing.h"
#include "server/state/token_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const core::Time kAnHourLater = kStateTime + std::chrono::hours(1);

// Ann has two jobs, of which staff have looked at one; Ann, who is staff herself, has looked at one of Bob's.
void fill(database::Database& state) {
    for (Job job : {job_number(1, "ann", "qcd"), job_number(2, "ann", "qcd"), job_number(3, "bob", "qcd")}) {
        job.name = "secret of " + job.user;
        job.nodes = {"n1"};
        job.is_over = true;
        ASSERT_TRUE(put_job(state, job, kStateTime, soon()));
    }
    ASSERT_TRUE(replace_accounts(
        state, {.accounts = {{"qcd"}}, .members = {{"qcd", "ann", true}, {"qcd", "bob", false}}}, soon()));
    for (const char* user : {"ann", "bob"}) {
        ASSERT_TRUE(create_token(state, {.user = user, .label = "laptop"}, kStateTime, soon()));
        ASSERT_TRUE(create_session(state, {.user = user, .expires = kAnHourLater}, kStateTime, soon()));
    }
    for (const auto& [job, maker] :
         {std::pair("c/1", "ann"), std::pair("c/3", "bob"), std::pair("c/1", "bob")})
        ASSERT_TRUE(
            create_link(state, {.job = job, .made_by = maker, .expires = kAnHourLater}, kStateTime, soon()));
    const auto log = [&](const char* who, const char* job, const char* owner, const char* peer) {
        ASSERT_TRUE(append_audit(
            state,
            {.who = who, .what = "job.see", .job = job, .owner = owner, .time = kStateTime, .peer = peer},
            soon()));
    };
    log("sue", "c/1", "ann", "192.0.2.1");
    log("ann", "c/3", "bob", "192.0.2.2");
    log("ann", "c/2", "ann", "192.0.2.3");
    log("sue", "c/3", "bob", "192.0.2.4");
}

TEST_P(OnState, an_export_holds_all_of_a_person_and_nobody_elses_name) {
    fill(state());
    const std::string text = got(export_user(state(), "ann", kStateTime, soon()));
    const auto json = core::parse_json(text);
    ASSERT_TRUE(json.is_object()) << text;
    EXPECT_EQ(json.at("user"), "ann");
    ASSERT_THAT(json.at("jobs"), SizeIs(2));
    EXPECT_EQ(json.at("jobs")[0].at("key"), "c/1");
    EXPECT_EQ(json.at("jobs")[0].at("name"), "secret of ann");
    EXPECT_EQ(json.at("jobs")[0].at("submit"), core::format_time(kStateTime + std::chrono::minutes(1)));
    EXPECT_EQ(json.at("jobs")[0].at("start"), nullptr);
    EXPECT_THAT(json.at("links"), SizeIs(1));
    EXPECT_THAT(json.at("tokens"), SizeIs(1));
    EXPECT_THAT(json.at("sessions"), SizeIs(1));
    EXPECT_THAT(json.at("memberships"), SizeIs(1));
    ASSERT_THAT(json.at("audit"), SizeIs(3));
    EXPECT_THAT(json.at("audit")[0].at("who").get<std::string>(), ::testing::StartsWith("person-"));
    EXPECT_EQ(json.at("audit")[0].at("peer"), nullptr) << "where others sit is theirs";
    EXPECT_EQ(json.at("audit")[1].at("who"), "ann");
    EXPECT_EQ(json.at("audit")[1].at("peer"), "192.0.2.2");
    for (const char* other : {"bob", "sue", "192.0.2.1", "192.0.2.4", "digest"})
        EXPECT_THAT(text, Not(HasSubstr(other)));
    EXPECT_NE(got(export_user(state(), "ann", kStateTime, soon())), text) << "pseudonyms are of one export";
    EXPECT_THAT(core::parse_json(got(export_user(state(), "nobody", kStateTime, soon()))).at("jobs"),
                IsEmpty());
    EXPECT_FALSE(export_user(state(), "a'b", kStateTime, soon()));
}

TEST(server_state, pseudonyms_tell_people_apart_within_one_export) {
    const Pseudonyms names("key", "ann"), others("another key", "ann");
    EXPECT_EQ(names.of("ann"), "ann");
    EXPECT_EQ(names.of("bob"), names.of("bob"));
    EXPECT_NE(names.of("bob"), names.of("sue"));
    EXPECT_NE(names.of("bob"), others.of("bob"));
    EXPECT_EQ(names.of(kOperator), kOperator);
    EXPECT_EQ(names.of(""), "");
}

TEST_P(OnState, of_an_erased_person_only_sums_are_left) {
    fill(state());
    EXPECT_TRUE(got(set_phase(state(), "c/1", RecordPhase::kErased, "", kStateTime, soon())));
    const ErasedUser first = got(erase_user(state(), "ann", kStateTime, soon()));
    EXPECT_EQ(first.jobs, 1);
    EXPECT_EQ(first.jobs_left, 1) << "whose record is still there";
    EXPECT_EQ(first.tokens, 1);
    EXPECT_EQ(first.sessions, 1);
    EXPECT_EQ(first.links, 2) << "hers, and Bob's to her job";
    EXPECT_EQ(first.memberships, 1);
    EXPECT_EQ(first.audit_entries, 2);
    const Job erased = found("c/1");
    EXPECT_EQ(erased.user, "");
    EXPECT_EQ(erased.name, "");
    EXPECT_EQ(erased.account, "qcd") << "for totals";
    EXPECT_EQ(found("c/2").user, "ann");
    put(job_number(1, "ann", "qcd"));
    EXPECT_EQ(found("c/1").user, "") << "Slurm still knows it, and it is not stored again";

    EXPECT_TRUE(got(set_phase(state(), "c/2", RecordPhase::kErased, "", kStateTime, soon())));
    const ErasedUser second = got(erase_user(state(), "ann", kStateTime, soon()));
    EXPECT_EQ(second.jobs, 1);
    EXPECT_EQ(second.jobs_left, 0);

    for (const char* table : {"job", "token", "session", "account_member"})
        EXPECT_EQ(count(fmt::format("SELECT count(*) FROM {} WHERE user_name = 'ann'", table)), 0) << table;
    EXPECT_EQ(count("SELECT count(*) FROM link WHERE made_by = 'ann'"), 0);
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE owner_name = 'ann'"), 0);
    EXPECT_EQ(count("SELECT count(*) FROM audit WHERE who = 'ann'"), 1)
        << "that she saw Bob's job is his to know";
    EXPECT_EQ(count("SELECT count(*) FROM audit"), 4) << "no entry goes";
    EXPECT_EQ(count("SELECT count(*) FROM token WHERE user_name = 'bob'"), 1);
    EXPECT_EQ(found("c/3").name, "secret of bob");
    EXPECT_THAT(got(list_jobs(state(), {.owner = "ann"}, {}, {}, soon())).jobs, IsEmpty());
    EXPECT_FALSE(erase_user(state(), "", kStateTime, soon()));
}

}  // namespace
}  // namespace belay::server
