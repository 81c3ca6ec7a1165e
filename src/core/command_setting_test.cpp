#include "core/command.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

constexpr Setting kYesOrNo[] = {{"record.trace", SettingType::kBoolean, "no", "count what programs do"}};

struct GivenToRun {
    bool trace = false;
    std::string output;
};

// What a command is given that has the setting as an option.
GivenToRun given_to_run(std::vector<std::string> words, int& status) {
    GivenToRun given;
    std::FILE* out = std::tmpfile();
    setenv("BELAY_CONFIG_DIR", "/nonexistent", 1);
    Application application({.name = "belay", .summary = "s", .description = "d", .version = "1"}, out, out);
    application.add_settings(kYesOrNo);
    auto run = application.add({.name = "run", .summary = "run"});
    run.setting("--trace", "record.trace");
    run.options().add_option("-o", given.output, "where")->type_name("DIR");
    run.run([&](const CommandContext& context) -> Result<int> {
        BELAY_TRY(configuration, context.configuration());
        given.trace = configuration.boolean("record.trace");
        return 0;
    });
    status = application.run(std::move(words));
    std::fclose(out);
    return given;
}

// It takes no value, so that the word behind it stays what it is.
TEST(core, a_setting_that_is_yes_or_no_is_a_flag) {
    int status = 0;
    const GivenToRun with = given_to_run({"run", "--trace", "-o", "here"}, status);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(with.trace);
    EXPECT_EQ(with.output, "here");
    EXPECT_FALSE(given_to_run({"run"}, status).trace);
    (void)given_to_run({"run", "--trace=yes"}, status);
    EXPECT_EQ(status, 2);
}

}  // namespace
}  // namespace belay::core
