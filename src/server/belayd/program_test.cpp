#include "server/belayd/program.h"

#include "metrics/text_encoder.h"
#include "server/belayd/daemon_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;

TEST(belayd_program, where_the_state_is_may_be_said_before_the_command) {
    EXPECT_THAT(with_command_first({"--data", "d", "token", "create", "--user", "u"}),
                ElementsAre("token", "create", "--user", "u", "--data", "d"));
    EXPECT_THAT(with_command_first({"--data=d", "backup", "f"}), ElementsAre("backup", "f", "--data=d"));
    EXPECT_THAT(with_command_first({"token", "create", "--data", "d"}),
                ElementsAre("token", "create", "--data", "d"));
    EXPECT_THAT(with_command_first({"--data", "d", "--listen", "127.0.0.1:0"}),
                ElementsAre("--data", "d", "--listen", "127.0.0.1:0"));
    // A directory of that name is not the command.
    EXPECT_THAT(with_command_first({"--data", "token"}), ElementsAre("--data", "token"));
    EXPECT_THAT(with_command_first({"--data"}), ElementsAre("--data"));
    EXPECT_TRUE(with_command_first({}).empty());
}

TEST(belayd_program, its_counts_are_valid_metrics) {
    const auto families = daemon_families(
        {.keeper = {.is_keeper = true, .jobs = 3, .records_made = 2}, .event_readers = 1, .block_places = 9});
    const auto checked = metrics::check(families);
    ASSERT_TRUE(checked) << checked.error().render();
    const std::string text = metrics::encode_text(families, metrics::TextForm::kPrometheus).value();
    EXPECT_THAT(text, ::testing::HasSubstr("belay_server_is_keeper 1\n"));
    EXPECT_THAT(text, ::testing::HasSubstr("belay_server_records_total 2\n"));
}

}  // namespace
}  // namespace belay::server
