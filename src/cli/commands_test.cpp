#include "cli/build_facts.h"
#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"
#include "core/manual.h"
#include "core/process.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;
using cli::testing::Outcome;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

core::CommandModel model() {
    core::Application application(application_page());
    add_commands(application);
    return application.model();
}

template <typename Check>
void for_every_command(const core::CommandModel& command, Check check) {
    check(command);
    for (const core::CommandModel& subcommand : command.subcommands) for_every_command(subcommand, check);
}

TEST(cli, every_command_and_option_says_what_it_is) {
    for_every_command(model(), [](const core::CommandModel& command) {
        EXPECT_GT(command.page.summary.size(), 10U) << command.full_name;
        EXPECT_THAT(command.page.summary, Not(EndsWith("."))) << command.full_name;
        EXPECT_TRUE(command.runnable || command.is_group()) << command.full_name;
        bool shown = command.runnable && !command.page.hidden;
        EXPECT_EQ(shown && command.page.examples.empty(), false) << command.full_name << " has no example";
        for (const auto* options : {&command.options, &command.positionals, &command.command})
            for (const core::OptionModel& option : *options) EXPECT_NE(option.meaning, "") << option.names[0];
    });
}

TEST(cli, every_manual_page_is_clean) {
    if (!core::find_program("groff")) GTEST_SKIP() << "groff is not installed";
    auto directory = core::TemporaryDirectory::create().value();
    Outcome written = belay({"_man", directory.path()});
    ASSERT_EQ(written.status, 0) << written.err;
    size_t pages = 0;
    for (const auto& page : std::filesystem::directory_iterator(directory.path())) {
        auto output = core::run({.argv = {"groff", "-ww", "-man", "-Tutf8", "-z", page.path()}});
        ASSERT_TRUE(output);
        EXPECT_EQ(output->err, "") << page.path();
        ++pages;
    }
    size_t expected = 0;
    for_every_command(model(),
                      [&](const core::CommandModel& command) { expected += command.page.hidden ? 0 : 1; });
    EXPECT_EQ(pages, expected);
}

TEST(cli, version_in_both_forms) {
    json value = core::parse_json(belay({"version", "--json"}).out);
    EXPECT_EQ(value["version"], kVersion);
    EXPECT_EQ(value["commit"], kCommit);
    EXPECT_EQ(value["compiler"], kCompiler);
    EXPECT_THAT(std::string(kVersion), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
    EXPECT_THAT(std::string(kCommit), ::testing::AnyOf("unknown", ::testing::MatchesRegex("[0-9a-f]{40}")));
    EXPECT_THAT(belay({"version"}).out, HasSubstr(std::string(kCommit)));
}

TEST(cli, config_shows_values_and_origins) {
    auto directory = core::TemporaryDirectory::create().value();
    std::string file = directory.path() / "site.toml";
    ASSERT_TRUE(
        core::replace_file(file, "[record]\ninterval = \"250ms\"\nprogress_pattern = [\"a\", \"b\"]\n"));
    setenv("BELAY_RECORD_FLUSH", "1m", 1);
    Outcome shown = belay({"config", "--json"}, directory.path());
    Outcome text = belay({"config"}, directory.path());
    unsetenv("BELAY_RECORD_FLUSH");
    ASSERT_EQ(shown.status, 0) << shown.err;
    std::map<std::string, json> settings;
    for (const json& each : core::parse_json(shown.out)) settings[each["key"]] = each;
    EXPECT_EQ(settings["record.interval"]["value"], 0.25);
    EXPECT_EQ(settings["record.interval"]["type"], "duration");
    EXPECT_EQ(settings["record.interval"]["origin"], file + ":2");
    EXPECT_EQ(settings["record.flush"]["value"], 60);
    EXPECT_EQ(settings["record.flush"]["origin"], "environment BELAY_RECORD_FLUSH");
    EXPECT_EQ(settings["record.progress_pattern"]["value"], (json{"a", "b"}));
    EXPECT_THAT(text.out, HasSubstr("250ms"));
    EXPECT_THAT(text.out, HasSubstr(file + ":2"));
}

TEST(cli, config_mistake_shows_the_place) {
    auto directory = core::TemporaryDirectory::create().value();
    std::string file = directory.path() / "site.toml";
    ASSERT_TRUE(core::replace_file(file, "[record]\nintervall = \"1s\"\n"));
    Outcome outcome = belay({"config"}, directory.path());
    EXPECT_EQ(outcome.status, 0);  // a key of a later version must not stop an older program
    EXPECT_EQ(
        outcome.err,
        "belay: " + file +
            ":2:1: unknown key \"record.intervall\", which is ignored\n    intervall = \"1s\"\n    ^\n" +
            "hint: did you mean \"interval\"?\n");
    EXPECT_EQ(belay({"version"}, directory.path()).status, 0);  // needs no configuration
}

TEST(cli, the_plan_of_a_step_fails_as_every_command) {
    Outcome outcome = belay({"_prepare", "--", "--environment=/no/such/environment.toml"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("belay: E_NOTFOUND there is no file /no/such/environment.toml"));
}

TEST(cli, an_environment_that_the_system_cannot_read_is_no_mistake_of_the_person) {
    auto directory = core::TemporaryDirectory::create().value();
    const std::string loop = directory.path() / "loop.toml";
    std::filesystem::create_symlink("loop.toml", loop);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"env", "validate", loop},
                                                  {"env", "render", loop},
                                                  {"env", "run", loop, "--", "true"},
                                                  {"_prepare", "--", "--environment=" + loop}}) {
        EXPECT_EQ(belay(words).status, 3) << words[1];
    }
    const json problem = core::parse_json(belay({"env", "validate", "--json", loop}).out)[0]["problems"][0];
    EXPECT_EQ(problem["code"], "E_READ");
    EXPECT_EQ(problem["cause"], "other");
    EXPECT_THAT(belay({"env", "run", loop, "--", "true"}).err,
                HasSubstr("belay: E_READ cannot look at " + loop + ": Too many levels"));
    EXPECT_EQ(belay({"env", "validate", loop, "/no/such/file.toml"}).status, 3);
    EXPECT_EQ(belay({"env", "validate", "/no/such/file.toml"}).status, 2);
}

TEST(cli, completion_of_each_shell_knows_the_commands) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        Outcome outcome = belay({"completion", shell});
        EXPECT_EQ(outcome.status, 0);
        EXPECT_THAT(outcome.out, HasSubstr("completion"));
        EXPECT_THAT(outcome.out, HasSubstr("record"));
    }
    EXPECT_EQ(belay({"completion", "tcsh"}).status, 2);
}

}  // namespace
}  // namespace belay::cli
