#include "core/file.h"
#include "stage/retention/glob.h"
#include "stage/retention/policy.h"
#include "stage/retention/purge_list.h"
#include "stage/retention/survey.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(stage_retention_glob, patterns) {
    EXPECT_TRUE(matches_glob("*.pt", "model.pt"));
    EXPECT_FALSE(matches_glob("*.pt", "a/model.pt"));
    EXPECT_TRUE(matches_glob("**.pt", "a/b/model.pt"));
    EXPECT_TRUE(matches_glob("a/**/c", "a/b/b/c"));
    EXPECT_TRUE(matches_glob("?[a-c][!a-c]", "xbx"));
    EXPECT_FALSE(matches_glob("?[a-c][!a-c]", "xbb"));
    EXPECT_FALSE(matches_glob("?", "/"));
    EXPECT_TRUE(matches_glob("[]]", "]"));
    EXPECT_TRUE(matches_glob("[", "["));
    EXPECT_TRUE(matches_glob("", ""));
    EXPECT_TRUE(matches_glob("*", "line\nfeed\xff"));
}

// A matcher that tries each length of each star takes longer than the age of the world for this.
TEST(stage_retention_glob, many_stars_take_no_time) {
    EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(200, 'a')));
}

TEST(stage_retention_glob, exempts_what_lies_beneath) {
    const std::vector<std::string> patterns = {".uenv-images", "ada/keep", "bob/*.pt"};
    EXPECT_TRUE(is_exempt(patterns, "x/.uenv-images/y/z"));
    EXPECT_TRUE(is_exempt(patterns, ".uenv-images"));
    EXPECT_TRUE(is_exempt(patterns, "ada/keep/a/b"));
    EXPECT_FALSE(is_exempt(patterns, "x/ada/keep/a"));
    EXPECT_FALSE(is_exempt(patterns, "ada/keeper"));
    EXPECT_TRUE(is_exempt(patterns, "bob/m.pt"));
    EXPECT_FALSE(is_exempt(patterns, "bob/c/m.pt"));
    EXPECT_FALSE(is_exempt({}, "a"));
}

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
    EXPECT_THAT(policy.users, ElementsAre("ada", "12"));
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
    EXPECT_THAT(mistake("older_than_days = -1"), HasSubstr("from 0 to 36500"));
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

const std::string kKey = "0123456789abcdef";

TEST(stage_retention_list, any_name_survives) {
    std::string all;
    for (int byte = 1; byte < 256; ++byte)
        if (byte != '/') all += static_cast<char>(byte);
    for (const std::string& path :
         {all, std::string("a b/line\nfeed"), std::string("gr\xc3\xbc\xc3\x9f"), std::string("\xff\xfe"),
          std::string("back\\slash\\n"), std::string(" lead")}) {
        EXPECT_EQ(unescape_path(escape_path(path)).value(), path);
        EXPECT_EQ(escape_path(path).find('\n'), std::string::npos);
    }
    EXPECT_EQ(escape_path("a\nb\xff"), "a\\nb\\xff");
    for (const char* text : {"\\", "\\x", "\\x1", "\\xzz", "\\x00", "\\x2f", "\\q"})
        EXPECT_FALSE(unescape_path(text)) << text;
}

PurgeList some_list() {
    PurgeList list{.root = "/scratch/a b",
                   .made = core::parse_time("2026-03-01T12:00:00.123456Z").value(),
                   .time = RetentionTime::kLatest,
                   .days = 30.5};
    list.entries.push_back(
        {.path = "x\ny/\xff", .inode = ~uint64_t{0}, .user = 1000, .times = {-5, 6, 7}, .bytes = 8});
    list.entries.push_back(
        {.path = "z", .inode = 2, .user = 0, .times = {1, 2, 3}, .bytes = 0, .pressed = true});
    list.ask_share = 0.6;
    return list;
}

TEST(stage_retention_list, comes_back_as_it_was) {
    const PurgeList list = some_list();
    const PurgeList read = read_signed_list(sign_list(list, kKey), kKey, "l").value();
    EXPECT_EQ(read.root, list.root);
    EXPECT_EQ(read.made, list.made);
    EXPECT_EQ(read.time, list.time);
    EXPECT_EQ(read.days, list.days);
    EXPECT_EQ(read.ask_share, 0.6);
    EXPECT_EQ(read.entries, list.entries);
}

TEST(stage_retention_list, any_change_is_seen) {
    const std::string text = sign_list(some_list(), kKey);
    for (size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = changed[at] == '1' ? '2' : '1';
        EXPECT_FALSE(read_signed_list(changed, kKey, "l")) << at;
    }
    for (size_t end = 0; end < text.size(); ++end)
        EXPECT_FALSE(read_signed_list(text.substr(0, end), kKey, "l")) << end;
    EXPECT_FALSE(read_signed_list(text + "\n", kKey, "l"));
    EXPECT_THAT(read_signed_list(text, "another key of 16", "l").error().message(),
                HasSubstr("signature does not fit"));
}

TEST(stage_retention_list, a_signed_path_cannot_leave_the_root) {
    for (const char* path : {"../x", "/etc/passwd", "a/../b", "", "a//b"}) {
        PurgeList list = some_list();
        list.entries[0].path = path;
        EXPECT_FALSE(read_signed_list(sign_list(list, kKey), kKey, "l")) << path;
    }
}

TEST(stage_retention_list, a_key_that_others_can_read_is_refused) {
    const auto directory = core::TemporaryDirectory::create().value();
    const fs::path file = directory.path() / "key";
    std::ofstream(file) << kKey;
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
    EXPECT_THAT(read_key(file).error().message(), HasSubstr("can be read or written by others"));
    fs::permissions(file, fs::perms::owner_read);
    EXPECT_EQ(read_key(file).value(), kKey);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    std::ofstream(file) << "short";
    EXPECT_THAT(read_key(file).error().message(), HasSubstr("holds 5 bytes"));
}

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

Survey surveyed(const RetentionPolicy& policy, const std::vector<Entry>& entries,
                const Occupancy& occupancy = {}, std::string_view directory = "d") {
    RetentionSums sums(policy, kNow, pressure_of(policy, occupancy) == Pressure::kPurge);
    RetentionSums other = sums;
    const std::span all(entries);
    sums.add({.path = directory, .entries = all.first(all.size() / 2)});
    other.add({.path = directory, .entries = all.subspan(all.size() / 2)});
    sums.add(std::move(other));
    // user2 is 2
    const auto ids = [](const std::vector<std::string>& users) {
        std::set<uint32_t> found;
        for (const std::string& user : users) found.insert(static_cast<uint32_t>(user.back() - '0'));
        return found;
    };
    SparedUsers spared{.exempt = ids(policy.exempt_users)};
    if (!policy.users.empty()) spared.only = ids(policy.users);
    return std::move(sums).finish(occupancy, spared,
                                  [](uint32_t user) { return fmt::format("user{}", user); });
}

std::vector<std::string> paths(const Survey& survey) {
    std::vector<std::string> found;
    for (const PurgeEntry& entry : survey.list.entries) found.push_back(entry.path);
    return found;
}

TEST(stage_retention, files_are_due_by_their_age) {
    const RetentionPolicy policy{.days = 30, .warn_days = 7};
    const Survey survey =
        surveyed(policy, {file("young", 1), file("soon", 27.5), file("edge", 30), file("old", 400)});
    EXPECT_THAT(paths(survey), ElementsAre("d/edge", "d/old"));
    const UserRetention& user = survey.users.at(1);
    EXPECT_EQ(user.all, (FileCount{4, 400}));
    EXPECT_EQ(user.due, (FileCount{2, 200}));
    EXPECT_EQ(user.soon, (FileCount{1, 100}));
    EXPECT_THAT(survey.expiring, ElementsAre(Pair(2, FileCount{1, 100})));
    ASSERT_EQ(survey.soonest.size(), 1u);
    EXPECT_NEAR(survey.soonest[0].days, 2.5, 1e-6);
}

TEST(stage_retention, exempt_files_are_counted_and_left) {
    const RetentionPolicy policy{.days = 30, .exempt = {"keep*"}};
    const Survey survey = surveyed(policy, {file("keep1", 100), file("x", 100)});
    EXPECT_THAT(paths(survey), ElementsAre("d/x"));
    EXPECT_EQ(survey.users.at(1).exempt, (FileCount{1, 100}));
    EXPECT_THAT(paths(surveyed({.days = 30, .exempt = {"d"}}, {file("x", 100)})), ElementsAre());
}

TEST(stage_retention, users_are_spared_by_name_or_number) {
    const std::vector<Entry> entries = {file("a", 100, 1), file("b", 100, 2), file("c", 100, 3)};
    EXPECT_THAT(paths(surveyed({.days = 30, .exempt_users = {"user2", "3"}}, entries)), ElementsAre("d/a"));
    const Survey survey = surveyed({.days = 30, .users = {"user2"}}, entries);
    EXPECT_THAT(paths(survey), ElementsAre("d/b"));
    EXPECT_TRUE(survey.users.at(1).spared);
    EXPECT_EQ(survey.users.at(1).due, FileCount());
}

TEST(stage_retention, directories_links_and_others_are_left) {
    Entry link = file("link", 100);
    link.type = core::FileType::kLink;
    Entry directory = file("directory", 100);
    directory.type = core::FileType::kDirectory;
    EXPECT_THAT(paths(surveyed({.days = 30}, {link, directory})), ElementsAre());
}

TEST(stage_retention, names_of_one_file_count_its_bytes_once) {
    Entry first = file("a", 100);
    first.links = 2;
    Entry second = first;
    second.name = "b";
    const Survey survey = surveyed({.days = 30}, {first, second});
    EXPECT_EQ(survey.users.at(1).due, (FileCount{2, 100}));
    EXPECT_EQ(survey.several_names, 2u);
}

TEST(stage_retention, watermarks) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.59}), Pressure::kNone);
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.6}), Pressure::kAsk);
    EXPECT_EQ(pressure_of(policy, {.bytes_share = 0.1, .inodes_share = 0.8}), Pressure::kPurge);
    EXPECT_EQ(pressure_of({}, {.bytes_share = 1}), Pressure::kNone);
}

TEST(stage_retention, a_full_file_system_presses_out_the_oldest) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    const std::vector<Entry> entries = {file("new", 3), file("a", 10), file("b", 20), file("c", 15),
                                        file("old", 40)};
    // 250 bytes must go: the old file, and two more.
    const Survey survey = surveyed(policy, entries, {.bytes_share = 0.85, .bytes = 1000});
    EXPECT_EQ(survey.pressure, Pressure::kPurge);
    EXPECT_THAT(paths(survey), ElementsAre("d/b", "d/c", "d/old"));
    EXPECT_EQ(survey.users.at(1).pressed, (FileCount{2, 200}));
    // What is younger than spare_days stays, however full it is.
    EXPECT_THAT(paths(surveyed(policy, entries, {.bytes_share = 1, .bytes = 100'000})),
                ElementsAre("d/a", "d/b", "d/c", "d/old"));
}

// Where the name service does not know somebody, nothing of theirs is spared: so nothing is purged at all.
TEST(stage_retention, users_that_cannot_be_found_are_errors) {
    const SparedUsers found = find_spared({.exempt_users = {"root", "12345"}, .users = {"7"}}).value();
    EXPECT_TRUE(found.spares(0));
    EXPECT_TRUE(found.spares(12345));
    EXPECT_FALSE(found.spares(7));
    EXPECT_TRUE(found.spares(8));
    const auto wrong = find_spared({.exempt_users = {"nobody-of-this-name"}});
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("exempt_users: there is no user nobody-of-this-name"));
    EXPECT_FALSE(find_spared({.users = {"nobody-of-this-name"}}));
}

TEST(stage_retention, without_a_list_the_same_is_counted) {
    const RetentionPolicy policy{.days = 30, .ask_share = 0.6, .purge_share = 0.8, .spare_days = 7};
    RetentionSums sums(policy, kNow, true, false);
    const std::vector<Entry> entries = {file("b", 20), file("c", 15), file("old", 40)};
    sums.add({.path = "d", .entries = entries});
    const Survey survey =
        std::move(sums).finish({.bytes_share = 0.85, .bytes = 1000}, {}, [](uint32_t) { return "ada"; });
    EXPECT_EQ(survey.users.at(1).due, (FileCount{1, 100}));
    EXPECT_EQ(survey.users.at(1).pressed, (FileCount{2, 200}));
    EXPECT_THAT(paths(survey), ElementsAre());
}

TEST(stage_retention, only_the_soonest_are_listed) {
    std::vector<Entry> entries;
    for (int i = 0; i < 3000; ++i) entries.push_back(file(fmt::format("f{}", i), 24 + i / 1000.0));
    const Survey survey = surveyed({.days = 30, .warn_days = 7}, entries);
    EXPECT_EQ(survey.soonest.size(), kListedExpiring);
    EXPECT_EQ(survey.soonest.front().path, "d/f2999");
    EXPECT_EQ(survey.users.at(1).soon.files, 3000u);
}

TEST(stage_retention, json) {
    const RetentionPolicy policy{.days = 30, .quota_bytes = 1000};
    Survey survey = surveyed(policy, {file("bad\xff", 29), file("x", 100)});
    const auto json = to_json(survey, policy);
    EXPECT_EQ(json["due"]["files"], 1);
    EXPECT_EQ(json["soonest"][0]["path"], "d/bad\\xff");
    EXPECT_EQ(json["users"][0]["quota_bytes_share"], 0.2);
    EXPECT_TRUE(json["users"][0]["quota_inodes_share"].is_null());
    EXPECT_FALSE(json.dump().empty());
}

}  // namespace
}  // namespace belay::stage
