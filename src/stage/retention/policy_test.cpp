#include "stage/retention/policy.h"

#include "stage/retention/occupancy.h"
#include "stage/retention/spared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::UnorderedElementsAre;

RetentionPolicy parsed(const std::string& text) {
    return parse_retention_policy(text, "p.toml").value();
}
std::string mistake(const std::string& text) {
    const auto policy = parse_retention_policy(text, "p.toml");
    return policy ? "" : policy.error().render();
}

TEST(stage_retention_policy, every_key) {
    const RetentionPolicy policy = parsed(R"(
older_than_days = 30
timestamp = "used"
warn_days = 3
exempt = [".uenv-images"]
exempt_users = ["root"]
users = ["ada", "12"]
watermarks = { ask = 0.6, purge = 0.8, spare_days = 5 }
[quota]
bytes = "150TB"
inodes = 1000000
)");
    EXPECT_EQ(policy.days, 30);
    EXPECT_EQ(policy.time, RetentionTime::kUsed);
    EXPECT_EQ(policy.warn_days, 3);
    EXPECT_THAT(policy.exempt, ElementsAre(".uenv-images"));
    EXPECT_THAT(policy.exempt_users, ElementsAre("root"));
    EXPECT_THAT(policy.users, Optional(ElementsAre("ada", "12")));
    EXPECT_EQ(policy.ask_share, 0.6);
    EXPECT_EQ(policy.purge_share, 0.8);
    EXPECT_EQ(policy.spare_days, 5);
    EXPECT_EQ(policy.quota_bytes, 150'000'000'000'000U);
    EXPECT_EQ(policy.quota_inodes, 1'000'000U);
}

TEST(stage_retention_policy, what_is_old_must_be_stated) {
    EXPECT_THAT(mistake("timestamp = \"used\""), HasSubstr("older_than_days is missing"));
    EXPECT_THAT(mistake("older_than_days = 3"), HasSubstr("timestamp is missing"));
}

TEST(stage_retention_policy, mistakes_have_places) {
    EXPECT_THAT(mistake("older_then_days = 3"), HasSubstr("p.toml:1:1: unknown key \"older_then_days\""));
    EXPECT_THAT(mistake("older_then_days = 3"), HasSubstr("did you mean \"older_than_days\"?"));
    EXPECT_THAT(mistake("timestamp = \"old\""), HasSubstr("p.toml:1:13: must be \"accessed\""));
    EXPECT_THAT(mistake("older_than_days = -1"), HasSubstr("above 0 and not above 36500"));
    EXPECT_THAT(mistake("exempt = [1]"), HasSubstr("must be a text"));
    EXPECT_THAT(mistake("quota = { bytes = \"many\" }"), HasSubstr("p.toml:1:19"));
    EXPECT_THAT(mistake("older_than_days = 1\ntimestamp = \"used\"\nwatermarks = { purge = 0.8 }"),
                HasSubstr("needs watermarks.ask"));
}

TEST(stage_retention_policy, which_time_counts) {
    const FileTimes times{.accessed = 10, .modified = 20, .changed = 30};
    EXPECT_EQ(time_of(times, RetentionTime::kAccessed), 10);
    EXPECT_EQ(time_of(times, RetentionTime::kModified), 20);
    EXPECT_EQ(time_of(times, RetentionTime::kChanged), 30);
    EXPECT_EQ(time_of(times, RetentionTime::kUsed), 20);
    EXPECT_EQ(time_of(times, RetentionTime::kLatest), 30);
}

// What a program writes that found nobody for a list, or a person who means "never".
TEST(stage_retention_policy, what_may_be_meant_otherwise_is_refused) {
    const std::string old = "older_than_days = 30\ntimestamp = \"used\"\n";
    for (const char* key : {"users", "exempt_users", "exempt"}) {
        EXPECT_THAT(mistake(old + key + " = []"), HasSubstr("p.toml:3:")) << key;
        EXPECT_THAT(mistake(old + key + " = []"), HasSubstr("must not be empty")) << key;
        EXPECT_THAT(mistake(old + key + " = [\" \"]"), HasSubstr("must be a text that is not empty")) << key;
    }
    EXPECT_THAT(mistake("older_than_days = 0"), HasSubstr("must be a number above 0"));
    EXPECT_THAT(mistake("older_than_days = nan"), HasSubstr("must be a number above 0"));
    for (const char* key : {"ask", "purge", "spare_days"})
        EXPECT_THAT(mistake(old + "watermarks." + key + " = 0"), HasSubstr("must be a number above 0"))
            << key;
    EXPECT_THAT(mistake(old + "watermarks.ask = 60"), HasSubstr("not above 1")) << "a percentage";
    EXPECT_EQ(mistake(old + "warn_days = 0"), "");
}

TEST(stage_retention_policy, patterns_that_can_match_no_path_are_refused) {
    const std::string old = "older_than_days = 30\ntimestamp = \"used\"\n";
    for (const char* pattern : {"../ada", "/scratch/../ada", "ada/.."}) {
        const std::string text = mistake(old + "exempt = [\"keep\", \"" + pattern + "\"]");
        EXPECT_THAT(text, HasSubstr("p.toml:3:19: \"")) << pattern;
        EXPECT_THAT(text, HasSubstr("no path has a part \"..\"")) << pattern;
    }
    for (const char* pattern : {"/", ".", "./", "//", "/./"})
        EXPECT_THAT(mistake(old + "exempt = [\"" + pattern + "\"]"), HasSubstr("names no file")) << pattern;
    EXPECT_EQ(mistake(old + "exempt = [\"..a\", \"**\", \"a..b/c\"]"), "");
}

TEST(stage_retention_policy, a_time_that_is_none_is_known_as_such) {
    EXPECT_FALSE(is_known(0));
    EXPECT_FALSE(is_known(-5));
    EXPECT_TRUE(is_known(1));
}

// Where the name service does not know somebody, nothing of theirs is spared: so nothing is purged at all.
TEST(stage_retention_users, that_cannot_be_found_are_errors) {
    const SparedUsers found =
        find_spared({.exempt_users = {"root", "12345"}, .users = std::vector<std::string>{"7"}}).value();
    EXPECT_TRUE(found.spares(0));
    EXPECT_TRUE(found.spares(12345));
    EXPECT_FALSE(found.spares(7));
    EXPECT_TRUE(found.spares(8));
    const auto wrong = find_spared({.exempt_users = {"nobody-of-this-name"}});
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("exempt_users: there is no user nobody-of-this-name"));
    EXPECT_FALSE(find_spared({.users = std::vector<std::string>{"nobody-of-this-name"}}));
}

TEST(stage_retention_users, an_empty_list_is_nobody_and_not_everybody) {
    const SparedUsers nobody = find_spared({.users = std::vector<std::string>()}).value();
    EXPECT_TRUE(nobody.spares(0));
    EXPECT_TRUE(nobody.spares(1000));
    EXPECT_FALSE(find_spared({})->spares(1000));
}

// Ada is 1, the user who is called "7" is 70.
core::Result<uint32_t> id_of(const std::string& name) {
    if (name == "ada") return 1U;
    if (name == "7") return 70U;
    if (name == "8") return core::system_error("no answer").because(core::Cause::kTimedOut);
    return core::bad_input("there is no user {}", name).because(core::Cause::kNotFound);
}

TEST(stage_retention_users, a_number_may_be_somebodys_name) {
    const SparedUsers spared = find_spared({.exempt_users = {"ada", "7", "9"}}, id_of).value();
    EXPECT_THAT(spared.exempt, UnorderedElementsAre(1, 7, 70, 9)) << "both are spared";
    EXPECT_THAT(spared.numbers, ElementsAre(9));
    EXPECT_THAT(find_spared({.users = std::vector<std::string>{"7"}}, id_of).error().message(),
                HasSubstr("\"7\" is the name of user 70 and the number of another"));
    EXPECT_THAT(find_spared({.users = std::vector<std::string>{"9"}}, id_of)->only,
                Optional(UnorderedElementsAre(9)));
    EXPECT_EQ(find_spared({.exempt_users = {"8"}}, id_of).error().cause(), core::Cause::kTimedOut)
        << "it may be anybody's name";
}

TEST(stage_retention_users, owners_that_are_not_known_here_may_be_exempt) {
    const uint32_t nobody = 65534;
    EXPECT_FALSE(SparedUsers().spares(nobody));
    EXPECT_TRUE((SparedUsers{.exempt = {1}}).spares(nobody));
    EXPECT_TRUE((SparedUsers{.exempt = {1}}).spares(4294967294U));
    EXPECT_FALSE((SparedUsers{.exempt = {1}, .only = std::set{nobody}}).spares(nobody)) << "it was named";
}

TEST(stage_retention_watermarks, states) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.59}), Pressure::kNone);
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.6}), Pressure::kAsk);
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.1, .inodes_share = 0.8}), Pressure::kPurge);
    EXPECT_EQ(pressure_of({}, {.bytes_share = 1}), Pressure::kNone);
}

TEST(stage_retention_watermarks, a_file_system_that_does_not_know_its_size_is_not_full) {
    struct statvfs status{};
    status.f_frsize = 4096;
    EXPECT_EQ(occupancy_in(status).share(), 0) << "nothing is known";
    status.f_blocks = 1000;
    status.f_bfree = 300;
    status.f_bavail = 100;
    status.f_files = 10;
    status.f_ffree = status.f_favail = ~fsfilcnt_t{0};  // CephFS
    Occupancy occupancy = occupancy_in(status);
    EXPECT_DOUBLE_EQ(occupancy.bytes_share, 700.0 / 800);
    EXPECT_EQ(occupancy.bytes, 800U * 4096);
    EXPECT_EQ(occupancy.inodes_share, 0);
    status.f_bfree = status.f_bavail = 1001;  // more than there are
    EXPECT_EQ(occupancy_in(status).share(), 0);
    status.f_files = 100;
    status.f_ffree = status.f_favail = 25;
    occupancy = occupancy_in(status);
    EXPECT_EQ(occupancy.inodes_share, 0.75);
    EXPECT_EQ(occupancy.inodes, 100U);
}

}  // namespace
}  // namespace belay::stage
