#include "server/belayd/options.h"

#include "core/file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::HasSubstr;

// Without files of this machine.
core::Environment quiet_environment() {
    return {{"BELAY_CONFIG_DIR", "/nonexistent"}};
}

DaemonWords words_of(std::vector<GivenSetting> given, bool no_tls = false) {
    return {.given = std::move(given), .config = {}, .no_tls = no_tls};
}

std::string problem_of(const DaemonWords& words) {
    const auto options = read_options(words, quiet_environment());
    return options ? "" : options.error().message();
}

TEST(daemon_options, there_are_defaults) {
    const auto options = read_options({}, quiet_environment());
    ASSERT_TRUE(options) << options.error().render();
    EXPECT_EQ(options->listen, (ListenAddress{"127.0.0.1", 8440}));
    EXPECT_TRUE(options->uses_tls);
    EXPECT_EQ(options->database, "sqlite:/var/lib/belay/state.db");
    EXPECT_EQ(options->slurm, AskSlurm::kAuto);
}

TEST(daemon_options, the_command_line_wins_over_files_and_these_over_defaults) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto file = directory.path() / "belayd.toml";
    std::ofstream(file) << "[server]\ndata = \"/from-file\"\nname = \"b\"\n";
    DaemonWords words = words_of({{"server.data", "--data", "/from-line"}});
    words.config = file.string();
    const auto options = read_options(words, quiet_environment());
    ASSERT_TRUE(options) << options.error().render();
    EXPECT_EQ(options->data, "/from-line");
    EXPECT_EQ(options->name, "b");
    words.config = (directory.path() / "missing.toml").string();
    EXPECT_THAT(problem_of(words), HasSubstr("missing.toml"));
}

TEST(daemon_options, addresses_are_numeric) {
    EXPECT_EQ(parse_listen("127.0.0.1:0").value(), (ListenAddress{"127.0.0.1", 0}));
    EXPECT_EQ(parse_listen("[::1]:8440").value(), (ListenAddress{"::1", 8440}));
    for (const char* text : {"", "8440", ":8440", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "::1:8440",
                             "[127.0.0.1]:1", "host:8440", "127.0.0.1:-1"})
        EXPECT_FALSE(parse_listen(text)) << text;
}

TEST(daemon_options, tokens_are_not_sent_in_the_clear_to_other_machines) {
    EXPECT_EQ(problem_of(words_of({{"server.listen", "--listen", "127.0.0.1:0"}}, true)), "");
    EXPECT_EQ(problem_of(words_of({{"server.listen", "--listen", "[::1]:0"}}, true)), "");
    EXPECT_THAT(problem_of(words_of({{"server.listen", "--listen", "0.0.0.0:0"}}, true)),
                HasSubstr("in the clear"));
}

TEST(daemon_options, a_provider_of_identities_needs_more_than_its_name) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto file = directory.path() / "secret";
    std::ofstream(file) << "hush\n";
    std::vector<GivenSetting> given = {{"server.oidc_issuer", "x", "https://id.example.org"}};
    EXPECT_THAT(problem_of(words_of(given)), HasSubstr("server.oidc_client"));
    given.push_back({"server.oidc_client", "x", "belay"});
    EXPECT_THAT(problem_of(words_of(given)), HasSubstr("server.url"));
    given.push_back({"server.url", "x", "https://belay.example.org"});
    given.push_back({"server.oidc_secret_file", "x", file.string()});
    const auto options = read_options(words_of(given), quiet_environment());
    ASSERT_TRUE(options) << options.error().render();
    ASSERT_TRUE(options->oidc);
    EXPECT_EQ(options->oidc->secret, "hush");
    EXPECT_EQ(options->oidc->user_claim, "preferred_username");
    given.back().text = (directory.path() / "missing").string();
    EXPECT_THAT(problem_of(words_of(given)), HasSubstr("server.oidc_secret_file"));
}

TEST(daemon_options, what_is_wrong_is_named) {
    EXPECT_THAT(problem_of(words_of({{"server.name", "--name", "a/b"}})), HasSubstr("server.name"));
    EXPECT_THAT(problem_of(words_of({{"server.slurm", "--slurm", "maybe"}})), HasSubstr("server.slurm"));
    EXPECT_THAT(problem_of(words_of({{"server.certificate", "--certificate", "c.pem"}})),
                HasSubstr("server.key"));
    EXPECT_THAT(problem_of(words_of({{"server.threads", "--threads", "0"}})), HasSubstr("server.threads"));
    EXPECT_THAT(problem_of(words_of({{"server.data", "--data", ""}})), HasSubstr("server.data"));
}

}  // namespace
}  // namespace belay::server
