#include "core/testing/hanging_directory.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace belay::core::testing {
namespace {

using namespace std::chrono_literals;

bool comes_true(const std::function<bool()>& question) {
    for (int i = 0; i < 2000 && !question(); ++i) std::this_thread::sleep_for(10ms);
    return question();
}

TEST(core_testing, a_process_in_a_hanging_directory_outlives_sigkill) {
    auto directory = HangingDirectory::mount();
    ASSERT_TRUE(directory) << directory.error().render();
    auto child = spawn({.argv = {"cat", (*directory)->path() / "file"}});
    ASSERT_TRUE(child) << child.error().render();
    ASSERT_TRUE(comes_true([&] { return (*directory)->held().find("LOOKUP file") != std::string::npos; }));
    ASSERT_TRUE(child->kill(SIGKILL));
    ASSERT_TRUE(comes_true([&] { return (*directory)->held().find("INTERRUPT") != std::string::npos; }));
    EXPECT_EQ(child->wait_for(0ms).value(), std::nullopt);
    (*directory)->let_go();
    EXPECT_EQ(child->wait().value(), (ExitStatus{.signal = SIGKILL}));
}

}  // namespace
}  // namespace belay::core::testing
