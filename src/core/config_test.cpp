#include "core/config.h"

#include <chrono>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Setting kSettings[] = {
    {"record.interval", SettingType::kDuration, "1s", "time between two samples"},
    {"record.flush", SettingType::kDuration, "2s", "time between two flushes"},
    {"record.progress_pattern", SettingType::kTextList, "", "patterns"},
    {"record.limit", SettingType::kSize, "10GB", "largest record"},
    {"server.url", SettingType::kText, "", "address of belayd"},
    {"server.retries", SettingType::kInteger, "3", "attempts"},
    {"server.ratio", SettingType::kNumber, "0.5", "a share"},
    {"server.verify", SettingType::kBoolean, "true", "check certificates"},
};

Configuration defaults() {
    return Configuration(kSettings);
}

// The error of merging `text`, as shown to the person.
std::string complaint(std::string_view text) {
    Configuration configuration = defaults();
    Result<> merged = configuration.merge_toml(text, "a.toml");
    if (merged && !configuration.ignored().empty()) return configuration.ignored()[0].render();
    if (merged) return "no error";
    EXPECT_EQ(merged.error().kind(), ErrorKind::kBadInput);
    return merged.error().render();
}

TEST(core, config_defaults) {
    Configuration configuration = defaults();
    EXPECT_EQ(configuration.duration("record.interval"), 1s);
    EXPECT_EQ(configuration.size("record.limit").bytes, 10'000'000'000U);
    EXPECT_EQ(configuration.text("server.url"), "");
    EXPECT_EQ(configuration.integer("server.retries"), 3);
    EXPECT_EQ(configuration.number("server.ratio"), 0.5);
    EXPECT_TRUE(configuration.boolean("server.verify"));
    EXPECT_TRUE(configuration.text_list("record.progress_pattern").empty());
    EXPECT_EQ(configuration.origin("record.interval"), "default");
    EXPECT_EQ(configuration.values().size(), std::size(kSettings));
}

TEST(core, config_file_sets_every_type) {
    Configuration configuration = defaults();
    auto merged = configuration.merge_toml(R"(
server.url = "https://belay.example"
[record]
interval = "250ms"
progress_pattern = ['loss=(\d+)', "x"]
limit = "1GiB"
[server]
retries = 5
ratio = 1
verify = false
)",
                                           "/etc/belay/a.toml");
    // [server] after server.url defines the table twice: TOML refuses it.
    ASSERT_FALSE(merged);
    EXPECT_EQ(configuration.duration("record.interval"), 1s);  // nothing is taken from a wrong file
    ASSERT_TRUE(configuration.merge_toml(R"(
server = {url = "https://belay.example", retries = 5, ratio = 1, verify = false}
[record]
interval = "250ms"
progress_pattern = ['loss=(\d+)', "x"]
limit = "1GiB"
)",
                                         "/etc/belay/a.toml"));
    EXPECT_EQ(configuration.text("server.url"), "https://belay.example");
    EXPECT_EQ(configuration.duration("record.interval"), 250ms);
    EXPECT_EQ(configuration.size("record.limit").bytes, 1U << 30);
    EXPECT_THAT(configuration.text_list("record.progress_pattern"), ElementsAre("loss=(\\d+)", "x"));
    EXPECT_EQ(configuration.integer("server.retries"), 5);
    EXPECT_EQ(configuration.number("server.ratio"), 1.0);
    EXPECT_FALSE(configuration.boolean("server.verify"));
    EXPECT_EQ(configuration.origin("record.interval"), "/etc/belay/a.toml:4");
    EXPECT_EQ(configuration.origin("record.flush"), "default");
}

TEST(core, config_ignored_key_names_place_and_nearest) {
    EXPECT_EQ(complaint("[record]\n  intervall = \"1s\"\n"),
              "belay: a.toml:2:3: unknown key \"record.intervall\", which is ignored\n"
              "      intervall = \"1s\"\n"
              "      ^\n"
              "hint: did you mean \"interval\"?\n");
    EXPECT_THAT(complaint("[recrod]\ninterval = \"1s\"\n"), HasSubstr("a.toml:1:2: unknown key \"recrod\""));
    EXPECT_THAT(complaint("[recrod]\ninterval = \"1s\"\n"), HasSubstr("did you mean \"record\"?"));
    EXPECT_THAT(complaint("retries = 5"), HasSubstr("did you mean \"server.retries\"?"));
    EXPECT_THAT(complaint("[something]\nentirely = 1"), HasSubstr("\"belay config\" lists the keys"));
    EXPECT_THAT(complaint("[record.interval]\nx = 1"), HasSubstr("expected a duration"));
    EXPECT_THAT(complaint("record = 5"), HasSubstr("a.toml:1:10: record is a section, found the integer 5"));
}

TEST(core, config_wrong_type_names_place) {
    EXPECT_EQ(complaint("[record]\ninterval = 5\n"),
              "belay: a.toml:2:12: record.interval: expected a duration in quotes such as \"500ms\", found "
              "the integer 5\n"
              "    interval = 5\n"
              "               ^\n");
    EXPECT_THAT(complaint("record.interval = \"5\""),
                HasSubstr("a.toml:1:19: record.interval: duration \"5\" has no unit"));
    EXPECT_THAT(complaint("record.limit = \"5G\""), HasSubstr("unknown unit \"G\""));
    EXPECT_THAT(complaint("server.verify = \"true\""), HasSubstr("expected true or false, found a text"));
    EXPECT_THAT(complaint("server.retries = 1.5"), HasSubstr("expected an integer, found the number 1.5"));
    EXPECT_THAT(complaint("server.ratio = true"), HasSubstr("expected a number, found the boolean true"));
    EXPECT_THAT(complaint("server.url = 2026-01-01"), HasSubstr("found a date or time"));
    EXPECT_THAT(complaint("record.progress_pattern = [\"a\", 3]"),
                HasSubstr("a.toml:1:33: record.progress_pattern: expected an array of texts"));
    EXPECT_THAT(complaint("record.progress_pattern = \"a\""), HasSubstr("found a text"));
}

TEST(core, config_syntax_error_has_position_and_caret) {
    std::string shown = complaint("[record]\ninterval = \n");
    EXPECT_THAT(shown, HasSubstr("belay: a.toml:2:"));
    EXPECT_THAT(shown, HasSubstr("    interval = \n"));
    EXPECT_THAT(complaint("[record\n"), HasSubstr("a.toml:1:"));
    EXPECT_THAT(complaint(std::string("x = \"\xff\"")), HasSubstr("a.toml:1:"));
    EXPECT_THAT(complaint("[\u00e4]"), HasSubstr("a.toml:1:2"));
    EXPECT_THAT(complaint("[[[a]]]"), HasSubstr("a.toml:1:3"));
    EXPECT_THAT(complaint("[\x01]"), HasSubstr("a.toml:1:"));
    EXPECT_THAT(complaint(std::string(10'000, '[')), HasSubstr("a.toml:1:"));
}

TEST(core, config_columns_count_bytes) {
    Configuration configuration = defaults();
    ASSERT_TRUE(configuration.merge_toml("server = {url = \"\u00e4\u00f6\", bad = 1}", "a.toml"));
    ASSERT_EQ(configuration.ignored().size(), 1U);
    EXPECT_EQ(configuration.ignored()[0].position()->column,
              25);  // 22 characters before, two of them of two bytes
}

TEST(core, config_layers_in_order) {
    auto directory = TemporaryDirectory::create().value();
    auto site = directory.path() / "site", user = directory.path() / "user";
    ASSERT_TRUE(make_directories(site));
    ASSERT_TRUE(make_directories(user));
    ASSERT_TRUE(replace_file(site / "20-b.toml", "record.interval = \"2s\"\nrecord.flush = \"20s\""));
    ASSERT_TRUE(replace_file(site / "10-a.toml", "record.interval = \"9s\"\nserver.retries = 7"));
    ASSERT_TRUE(replace_file(site / "ignored.toml.rpmsave", "nonsense"));
    ASSERT_TRUE(replace_file(user / "belay.toml", "record.flush = \"30s\""));
    ConfigurationSources sources{.directories = {site, user, directory.path() / "absent"},
                                 .environment = {{"BELAY_SERVER_RETRIES", "8"}, {"BELAY_UNRELATED", "x"}}};
    auto configuration = load_configuration(kSettings, sources);
    ASSERT_TRUE(configuration) << configuration.error().render();
    EXPECT_EQ(configuration->duration("record.interval"), 2s);
    EXPECT_EQ(configuration->origin("record.interval"), (site / "20-b.toml").string() + ":1");
    EXPECT_EQ(configuration->duration("record.flush"), 30s);
    EXPECT_EQ(configuration->integer("server.retries"), 8);
    EXPECT_EQ(configuration->origin("server.retries"), "environment BELAY_SERVER_RETRIES");
    sources.flags = {{"server.retries", "--retries", {"9"}},
                     {"record.progress_pattern", "--pattern", {"a,b", "[c]"}}};
    configuration = load_configuration(kSettings, sources);
    ASSERT_TRUE(configuration);
    EXPECT_EQ(configuration->integer("server.retries"), 9);
    EXPECT_EQ(configuration->origin("server.retries"), "--retries");
    EXPECT_THAT(configuration->text_list("record.progress_pattern"), ElementsAre("a,b", "[c]"));
}

TEST(core, config_errors_of_environment_flags_and_files) {
    ConfigurationSources sources{.directories = {}, .environment = {{"BELAY_RECORD_INTERVAL", "fast"}}};
    auto loaded = load_configuration(kSettings, sources);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().message(), "environment BELAY_RECORD_INTERVAL: \"fast\" is not a duration");
    sources = {.directories = {}, .environment = {{"BELAY_RECORD_INTERVALL", "5s"}}};
    loaded = load_configuration(kSettings, sources);
    ASSERT_TRUE(loaded);
    ASSERT_EQ(loaded->ignored().size(), 1U);
    EXPECT_EQ(loaded->ignored()[0].message(), "environment BELAY_RECORD_INTERVALL: unknown setting, ignored");
    EXPECT_EQ(loaded->ignored()[0].hint_text(), "did you mean BELAY_RECORD_INTERVAL?");
    EXPECT_TRUE(
        load_configuration(kSettings, {.directories = {}, .environment = {{"BELAY_ELSEWHERE", "1"}}}));
    sources = {.directories = {}, .environment = {}, .flags = {{"server.retries", "--retries", {"x"}}}};
    EXPECT_EQ(load_configuration(kSettings, sources).error().message(), "--retries: \"x\" is not an integer");
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(make_directories(directory.path() / "a.toml"));
    auto unreadable = load_configuration(kSettings, {.directories = {directory.path()}, .environment = {}});
    ASSERT_FALSE(unreadable);
    EXPECT_EQ(unreadable.error().kind(), ErrorKind::kSystem);
}

TEST(core, config_shows_the_first_of_many_ignored_settings) {
    std::string text;
    for (size_t i = 0; i < Configuration::kMostIgnoredShown + 7; ++i)
        text += fmt::format("record.k{:02} = 1\n", i);
    Configuration configuration(kSettings);
    ASSERT_TRUE(configuration.merge_toml(text, "a.toml"));
    const std::string shown = configuration.ignored_text("belay");
    EXPECT_NE(shown.find("a.toml:10:"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("a.toml:11:"), std::string::npos) << shown;
    EXPECT_TRUE(shown.ends_with("belay: 7 more settings or files of settings are ignored\n")) << shown;
}

TEST(core, config_of_another_user_is_ignored) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(replace_file(directory.path() / "a.toml", "server.url = \"http://theirs\""));
    ASSERT_TRUE(replace_file(directory.path() / "b.toml", "record.flush = \"30s\""));
    ASSERT_EQ(chown((directory.path() / "a.toml").c_str(), 65533, 65533), 0);
    auto loaded = load_configuration(kSettings, {.directories = {directory.path()}, .environment = {}});
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->origin("server.url"), "default");
    EXPECT_EQ(loaded->duration("record.flush"), 30s);
    ASSERT_EQ(loaded->ignored().size(), 1U);
    EXPECT_EQ(loaded->ignored()[0].message(),
              (directory.path() / "a.toml").string() +
                  " belongs to the user 65533, not to you or root, and is ignored");
}

TEST(core, config_list_in_the_environment) {
    const Setting list = kSettings[2];
    auto parse = [&](std::string_view text) { return std::get<TextList>(parse_setting(list, text).value()); };
    EXPECT_TRUE(parse("").empty());
    EXPECT_THAT(parse("a{1,3}, b"), ElementsAre("a{1,3}, b"));
    EXPECT_THAT(parse("[\"a\", 'b']"), ElementsAre("a", "b"));
    for (const char* wrong : {"[1]", "[\"a\"", "[\"a\"]\nb = 1"})
        EXPECT_FALSE(parse_setting(list, wrong)) << wrong;
    // What is shown reads back.
    TextList strange{"", "a\"b\\c", "line\nfeed\x01", "\u00e4"};
    EXPECT_EQ(parse(to_text(SettingValue(strange))), strange);
}

TEST(core, config_values_round_trip_as_text) {
    for (const Setting& setting : kSettings) {
        SettingValue value = parse_setting(setting, setting.default_text).value();
        EXPECT_EQ(parse_setting(setting, to_text(value)).value(), value) << setting.key;
    }
}

TEST(core, config_default_directories) {
    EXPECT_THAT(default_sources({{"HOME", "/home/ada"}}).directories,
                ElementsAre("/etc/belay", "/home/ada/.config/belay"));
    EXPECT_THAT(default_sources({{"HOME", "/home/ada"}, {"XDG_CONFIG_HOME", "/x"}}).directories,
                ElementsAre("/etc/belay", "/x/belay"));
    EXPECT_THAT(default_sources({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "relative"}}).directories,
                ElementsAre("/etc/belay", "/h/.config/belay"));
    EXPECT_THAT(default_sources({{"BELAY_CONFIG_DIR", "/a:/b"}, {"HOME", "/h"}}).directories,
                ElementsAre("/a", "/b"));
    EXPECT_THAT(default_sources(Environment{}).directories, ElementsAre("/etc/belay"));
}

TEST(core, config_mistakes_of_the_program_end_it) {
    EXPECT_DEATH(defaults().text("no.such"), "not declared: no.such");
    EXPECT_DEATH(defaults().text("record.interval"), "another type than declared");
    constexpr Setting kTwice[] = {{"a.b_c", SettingType::kText, "", ""},
                                  {"a_b.c", SettingType::kText, "", ""}};
    EXPECT_DEATH(Configuration{kTwice}, "declared twice");
    constexpr Setting kWrong[] = {{"a.b", SettingType::kDuration, "5", ""}};
    EXPECT_DEATH(Configuration{kWrong}, "default of the wrong type");
}

}  // namespace
}  // namespace belay::core
