#include "core/command.h"
#include "core/help.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(core, command_without_a_name_is_the_program) {
    std::FILE* out = std::tmpfile();
    Application agent({.name = "agent", .summary = "sample", .description = {}, .version = "1"}, out, out);
    std::string spool;
    auto command = agent.add({.name = "", .summary = "sample a node"});
    command.options().add_option("--spool", spool, "where to write")->required()->type_name("DIR");
    command.run([](const CommandContext&) -> Result<int> { return 0; });
    auto hidden = agent.add({.name = "_man", .summary = "pages", .hidden = true});
    hidden.run([](const CommandContext&) -> Result<int> { return 5; });
    EXPECT_EQ(agent.run({"--spool", "d"}), 0);
    EXPECT_EQ(spool, "d");
    EXPECT_EQ(agent.run({"--spool"}), 2);
    EXPECT_EQ(agent.run({"--spool", "d", "more"}), 2);
    EXPECT_EQ(agent.run({"_man"}), 5);
    EXPECT_EQ(agent.model().full_name, "agent");
    EXPECT_THAT(render_help(agent.model()),
                AllOf(HasSubstr("usage: agent --spool DIR [options]"), HasSubstr("--version")));
    EXPECT_THAT(render_help(agent.model()), Not(HasSubstr("commands:")));
    std::fclose(out);
}

}  // namespace
}  // namespace belay::core
