#include "core/log.h"

#include "core/text.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// What `action` logs with BELAY_LOG set to `level`; unset if empty.
template <typename Action>
std::string logged(const std::string& level, Action action) {
    if (level.empty())
        unsetenv("BELAY_LOG");
    else
        setenv("BELAY_LOG", level.c_str(), 1);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(start_logging("belay"));
    action();
    unsetenv("BELAY_LOG");
    return testing::internal::GetCapturedStderr();
}

void one_of_each() {
    log_debug("a debug {}", 1);
    log_info("an info");
    log_warning("a warning");
    log_error("an error");
}

TEST(core, log_line_has_time_program_and_level) {
    constexpr const char* kLine =
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z belay warning: node n3 is late\n";
    EXPECT_THAT(logged("", [] { log_warning("node {} is late", "n3"); }), MatchesRegex(kLine));
}

TEST(core, log_level_comes_from_the_environment) {
    EXPECT_EQ(split(logged("", one_of_each), '\n').size(), 3U);  // warning, error, and the end
    EXPECT_EQ(split(logged("debug", one_of_each), '\n').size(), 5U);
    EXPECT_THAT(logged("debug", one_of_each), HasSubstr(" belay debug: a debug 1\n"));
    EXPECT_EQ(split(logged("error", one_of_each), '\n').size(), 2U);
    EXPECT_EQ(logged("off", one_of_each), "");
}

TEST(core, log_unknown_level_is_refused) {
    setenv("BELAY_LOG", "debg", 1);
    auto started = start_logging("belay");
    unsetenv("BELAY_LOG");
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().render(),
              "belay: environment BELAY_LOG: unknown level \"debg\"\nhint: did you mean \"debug\"?\n");
}

TEST(core, log_entry_stays_on_one_line) {
    std::string text = logged("", [] { log_warning("{}", "a\nforged {} \x1b[31m\xff %v"); });
    EXPECT_THAT(text, testing::EndsWith("belay warning: a\\nforged {} \\x1b[31m\uFFFD %v\n"));
}

TEST(core, log_lines_of_threads_do_not_mix) {
    std::string text = logged("info", [] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([] {
                for (int line = 0; line < 100; ++line) log_info("{}", std::string(200, 'x'));
            });
        for (std::thread& thread : threads) thread.join();
    });
    size_t complete = 0;
    for (std::string_view line : split(text, '\n'))
        complete += line.ends_with("Z belay info: " + std::string(200, 'x'));
    EXPECT_EQ(complete, 400U);
}

}  // namespace
}  // namespace belay::core
