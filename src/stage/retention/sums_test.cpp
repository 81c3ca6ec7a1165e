#include "stage/retention/sums.h"

#include "stage/retention/oldest_files.h"
#include "stage/retention/survey.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr int64_t kDay = 86'400'000'000'000;
const core::Time kNow = core::time_from_nanoseconds(1000 * kDay);

Entry file(const std::string& name, double days_old, uint32_t user = 1, uint64_t bytes = 100) {
    const int64_t time = 1000 * kDay - static_cast<int64_t>(days_old * static_cast<double>(kDay));
    return {.name = name,
            .type = core::FileType::kRegular,
            .bytes = bytes,
            .allocated_bytes = bytes,
            .modified = time,
            .accessed = time,
            .changed = time,
            .inode = 7,
            .links = 1,
            .user = user};
}

// User 2 is called user2.
RetentionCounts counted(RetentionRules rules, const std::vector<Entry>& entries,
                        std::string_view directory = "d") {
    rules.now = kNow;
    RetentionSums sums(rules);
    RetentionSums other = sums;
    const std::span all(entries);
    sums.add({.path = directory, .entries = all.first(all.size() / 2)});
    other.add({.path = directory, .entries = all.subspan(all.size() / 2)});
    sums.add(std::move(other));
    return std::move(sums).finish([](uint32_t user) { return fmt::format("user{}", user); });
}
RetentionCounts counted(const RetentionPolicy& policy, const std::vector<Entry>& entries,
                        const Occupancy& occupancy = {}) {
    return counted({.policy = policy,
                    .exemptions = Exemptions(policy.exempt, {.canonical = "/scratch"}),
                    .occupancy = occupancy},
                   entries);
}

std::vector<std::string> paths(const RetentionCounts& counts) {
    std::vector<std::string> found;
    for (const PurgeEntry& entry : counts.entries) found.push_back(entry.path);
    return found;
}

TEST(stage_retention, files_are_due_by_their_age) {
    const RetentionPolicy policy{.days = 30, .warn_days = 7};
    const RetentionCounts counts =
        counted(policy, {file("young", 1), file("soon", 27.5), file("edge", 30), file("old", 400)});
    EXPECT_THAT(paths(counts), ElementsAre("d/edge", "d/old"));
    const UserRetention& user = counts.users.at(1);
    EXPECT_EQ(user.all, (FileCount{4, 400}));
    EXPECT_EQ(user.due, (FileCount{2, 200}));
    EXPECT_EQ(user.soon, (FileCount{1, 100}));
    EXPECT_THAT(counts.expiring, ElementsAre(Pair(2, FileCount{1, 100})));
    ASSERT_EQ(counts.soonest.size(), 1u);
    EXPECT_NEAR(counts.soonest[0].days, 2.5, 1e-6);
}

TEST(stage_retention, exempt_files_are_counted_and_left) {
    const RetentionPolicy policy{.days = 30, .exempt = {"keep*"}};
    const RetentionCounts counts = counted(policy, {file("keep1", 100), file("x", 100)});
    EXPECT_THAT(paths(counts), ElementsAre("d/x"));
    EXPECT_EQ(counts.users.at(1).exempt, (FileCount{1, 100}));
    EXPECT_THAT(paths(counted({.days = 30, .exempt = {"d"}}, {file("x", 100)})), ElementsAre());
}

TEST(stage_retention, nothing_of_spared_users_is_listed) {
    const std::vector<Entry> entries = {file("a", 100, 1), file("b", 100, 2), file("c", 100, 3),
                                        file("d", 28, 3)};
    EXPECT_THAT(paths(counted({.policy = {.days = 30}, .spared = {.exempt = {2, 3}}}, entries)),
                ElementsAre("d/a"));
    const RetentionCounts counts =
        counted({.policy = {.days = 30}, .spared = {.only = std::set<uint32_t>{2}}}, entries);
    EXPECT_THAT(paths(counts), ElementsAre("d/b"));
    EXPECT_TRUE(counts.users.at(1).spared);
    EXPECT_EQ(counts.users.at(1).due, FileCount());
    EXPECT_EQ(counts.users.at(1).all, (FileCount{1, 100}));
    EXPECT_THAT(counts.soonest, IsEmpty());
    EXPECT_THAT(counts.expiring, IsEmpty());
    EXPECT_THAT(paths(counted({.policy = {.days = 30}, .spared = {.only = std::set<uint32_t>()}}, entries)),
                IsEmpty())
        << "a list of nobody";
}

TEST(stage_retention, directories_links_and_others_are_left) {
    Entry link = file("link", 100);
    link.type = core::FileType::kLink;
    Entry directory = file("directory", 100);
    directory.type = core::FileType::kDirectory;
    EXPECT_THAT(paths(counted({.days = 30}, {link, directory})), ElementsAre());
}

Entry with_names(Entry entry, uint64_t inode) {
    entry.links = 2;
    entry.inode = inode;
    return entry;
}

TEST(stage_retention, names_of_one_file_count_its_bytes_once) {
    const RetentionCounts counts =
        counted({.days = 30}, {with_names(file("a", 100), 5), with_names(file("b", 100), 5)});
    EXPECT_EQ(counts.users.at(1).due, (FileCount{2, 100}));
    EXPECT_EQ(counts.users.at(1).all, (FileCount{2, 100}));
    EXPECT_EQ(counts.several_names, 2u);
}

// Whichever name a thread comes upon first.
TEST(stage_retention, bytes_stay_as_long_as_an_exempt_name_does) {
    for (const bool exempt_first : {false, true}) {
        std::vector<Entry> entries = {with_names(file("keep", 100), 5), with_names(file("due", 100), 5),
                                      with_names(file("keep-soon", 29), 6), with_names(file("soon", 29), 6)};
        if (!exempt_first) std::ranges::reverse(entries);
        const RetentionCounts counts = counted({.days = 30, .exempt = {"keep*"}}, entries);
        EXPECT_EQ(counts.users.at(1).due, (FileCount{1, 0}));
        EXPECT_EQ(counts.users.at(1).soon, (FileCount{1, 0}));
        EXPECT_EQ(counts.users.at(1).exempt, (FileCount{2, 200}));
        EXPECT_THAT(counts.expiring, ElementsAre(Pair(1, FileCount{1, 0})));
        EXPECT_THAT(paths(counts), ElementsAre("d/due"));
    }
}

constexpr Occupancy kFull{.bytes_share = 0.85, .bytes = 1000};  // 250 bytes too many for 0.6

TEST(stage_retention, which_files_are_pressed_out_does_not_depend_on_the_order) {
    const RetentionPolicy policy{
        .days = 30, .exempt = {"keep"}, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    std::vector<Entry> entries = {with_names(file("keep", 20), 5),
                                  with_names(file("a", 20), 5),
                                  with_names(file("b1", 19), 6),
                                  with_names(file("b2", 19), 6),
                                  file("c", 15),
                                  file("d", 14),
                                  file("e", 14)};
    std::mt19937_64 random(1);
    for (int round = 0; round < 20; ++round) {
        std::ranges::shuffle(entries, random);
        const RetentionCounts counts = counted(policy, entries, kFull);
        // "a" makes no room while "keep" is there; both names of b do with the first of them.
        EXPECT_THAT(paths(counts), ElementsAre("d/a", "d/b1", "d/b2", "d/c", "d/d"));
        EXPECT_EQ(counts.users.at(1).pressed, (FileCount{5, 300}));
    }
}

TEST(stage_retention, of_younger_files_only_those_that_make_room_are_kept) {
    OldestFiles oldest(1000, 0);
    for (int64_t time = 10'000; time > 0; --time) {
        ASSERT_TRUE(oldest.wants(time)) << "older than all before it";
        oldest.add({.entry = {.path = std::to_string(time)}, .time = time, .bytes = 100});
        ASSERT_LE(oldest.size(), 10U);
    }
    EXPECT_TRUE(oldest.wants(10));
    EXPECT_FALSE(oldest.wants(11));
    const auto files = oldest.take();
    ASSERT_EQ(files.size(), 10U);
    EXPECT_EQ(files.front().time, 1);
    EXPECT_EQ(files.back().time, 10);
    OldestFiles by_number(-5, 3);
    for (int64_t time = 1; time <= 100; ++time) by_number.add({.time = time});
    EXPECT_EQ(by_number.size(), 3U);
    OldestFiles few(1000, 0);
    few.add({.bytes = 1});
    EXPECT_TRUE(few.wants(INT64_MAX));
    EXPECT_EQ(few.size(), 1U);
}

TEST(stage_retention, a_full_file_system_presses_out_the_oldest) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    const std::vector<Entry> entries = {file("new", 3), file("a", 10), file("b", 20), file("c", 15),
                                        file("old", 40)};
    // 250 bytes must go: the old file, and two more.
    const RetentionCounts counts = counted(policy, entries, {.bytes_share = 0.85, .bytes = 1000});
    EXPECT_THAT(paths(counts), ElementsAre("d/b", "d/c", "d/old"));
    EXPECT_EQ(counts.users.at(1).pressed, (FileCount{2, 200}));
    // What is younger than spare_days stays, however full it is.
    EXPECT_THAT(paths(counted(policy, entries, {.bytes_share = 1, .bytes = 100'000})),
                ElementsAre("d/a", "d/b", "d/c", "d/old"));
}

TEST(stage_retention, without_a_list_the_same_is_counted) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    const std::vector<Entry> entries = {file("b", 20), with_names(file("c", 15), 5),
                                        with_names(file("d", 15), 5), file("old", 40), file("e", 14)};
    const RetentionCounts counts =
        counted({.policy = policy, .occupancy = kFull, .with_list = false}, entries);
    EXPECT_EQ(counts.users.at(1).due, (FileCount{1, 100}));
    EXPECT_EQ(counts.users.at(1).pressed, (FileCount{3, 200}));
    EXPECT_THAT(paths(counts), IsEmpty());
}

TEST(stage_retention, a_time_that_is_not_known_makes_no_file_old) {
    Entry never = file("never", 100);
    never.accessed = 0;
    Entry before = file("before", 100);
    before.accessed = before.modified = -1;
    const RetentionPolicy policy{
        .days = 30, .time = RetentionTime::kAccessed, .ask_share = 0.6, .purge_share = 0.8};
    const RetentionCounts counts = counted(policy, {never, before, file("old", 100)}, kFull);
    EXPECT_THAT(paths(counts), ElementsAre("d/old"));
    EXPECT_EQ(counts.unknown_times, 2U);
    EXPECT_THAT(paths(counted({.days = 30}, {never})), ElementsAre("d/never")) << "by when it was written";
}

std::vector<std::string> warnings(const RetentionRules& rules, const std::vector<Entry>& entries) {
    RetentionRules now = rules;
    now.now = kNow;
    return warnings_of(now, counted(now, entries), "/scratch");
}

TEST(stage_retention, patterns_that_protect_nothing_are_told) {
    Entry link = file("linked", 1);
    link.type = core::FileType::kLink;
    Entry directory = file("dir", 1);
    directory.type = core::FileType::kDirectory;
    const std::vector<std::string> patterns = {"young", "d/dir", "d/linked", "ada/keep", "Young", "d"};
    const RetentionRules rules{.policy = {.days = 30},
                               .exemptions = Exemptions(patterns, {.canonical = "/scratch"})};
    EXPECT_THAT(
        warnings(rules, {file("young", 1), link, directory}),
        ElementsAre("exempt: \"d/linked\" matches symbolic links only: what they lead to is not exempt",
                    "exempt: \"ada/keep\" matches nothing in /scratch, so it exempts nothing",
                    "exempt: \"Young\" matches nothing in /scratch, so it exempts nothing"));
}

TEST(stage_retention, a_pattern_that_exempts_everything_is_told) {
    const RetentionRules rules{
        .policy = {.days = 30},
        .exemptions = Exemptions(std::vector<std::string>{"/scratch"}, {.canonical = "/scratch"})};
    EXPECT_THAT(warnings(rules, {file("young", 1)}),
                ElementsAre("exempt: \"/scratch\" exempts all of /scratch"));
    EXPECT_THAT(paths(counted(rules, {file("old", 100)}, "")), IsEmpty());
}

TEST(stage_retention, owners_that_are_not_what_they_seem_are_told) {
    const RetentionRules rules{.policy = {.days = 30}, .spared = {.exempt = {5, 6}, .numbers = {5, 6}}};
    EXPECT_THAT(warnings(rules, {file("a", 1, 5), file("b", 100, 65534)}),
                ElementsAre(HasSubstr("exempt_users: 6 is nobody's number and owns no file here"),
                            HasSubstr("1 file belongs to user 65534")));
    EXPECT_THAT(paths(counted(rules, {file("b", 100, 65534)})), IsEmpty());
}

TEST(stage_retention, clocks_that_may_be_wrong_are_told) {
    const RetentionRules rules{.policy = {.days = 30}};
    EXPECT_THAT(warnings(rules, {file("a", 1), file("b", 400)}), IsEmpty());
    EXPECT_THAT(warnings(rules, {file("a", 31), file("b", 400)}),
                ElementsAre(HasSubstr("nothing in /scratch has changed since")));
    EXPECT_THAT(warnings(rules, {file("a", -0.5)}), IsEmpty());
    EXPECT_THAT(warnings(rules, {file("a", -2), file("b", 1)}),
                ElementsAre(HasSubstr("1 file has a time that is more than a day ahead")));
}

TEST(stage_retention, new_files_with_old_times_are_told) {
    Entry unpacked = file("unpacked", 900);
    unpacked.changed = core::to_nanoseconds(kNow) - kDay;
    EXPECT_THAT(
        warnings({.policy = {.days = 30}}, {unpacked, file("old", 100)}),
        ElementsAre(HasSubstr("1 file that is due, 100 B, came here or changed less than 30 days ago")));
    EXPECT_THAT(warnings({.policy = {.days = 30, .time = RetentionTime::kLatest}}, {unpacked}), IsEmpty());
}

TEST(stage_retention, only_the_soonest_are_listed) {
    std::vector<Entry> entries;
    for (int i = 0; i < 3000; ++i) entries.push_back(file(fmt::format("f{}", i), 24 + i / 1000.0));
    const RetentionCounts counts = counted({.days = 30, .warn_days = 7}, entries);
    EXPECT_EQ(counts.soonest.size(), kListedExpiring);
    EXPECT_EQ(counts.soonest.front().path, "d/f2999");
    EXPECT_EQ(counts.users.at(1).soon.files, 3000u);
}

}  // namespace
}  // namespace belay::stage
