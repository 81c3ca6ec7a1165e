// Tests of what a program does where the same directory has several names.
#pragma once

#include <filesystem>
#include <functional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::core {

// Shows the directory or file `from` at `to` as well, as mount --bind does.
using Bind = std::function<void(const std::filesystem::path& from, const std::filesystem::path& to)>;

// Runs the test in a child with mounts of its own; its failures are failures here. Skipped where this user may
// not mount.
inline void expect_in_mounts(const std::function<void(const Bind& bind)>& test) {
    constexpr int kMayNot = 97;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            _exit(kMayNot);
        test([](const std::filesystem::path& from, const std::filesystem::path& to) {
            if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(kMayNot);
        });
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == kMayNot) GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace belay::core
