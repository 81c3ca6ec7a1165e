#include "env/container/container.h"

#include "core/file.h"
#include "env/container/entrypoint.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::env {

using ::testing::HasSubstr;

TEST(env_container, a_program_that_is_not_there_keeps_its_cause) {
    const core::Error error = execute({"no-such-program"}, {{"PATH", "/nonexistent"}});
    EXPECT_EQ(error.kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(error.cause(), core::Cause::kNotFound);
    EXPECT_EQ(error.message(), "in the container: no-such-program: not found in PATH");
    EXPECT_EQ(error.hint_text(), "its PATH is /nonexistent");
    EXPECT_EQ(execute({"no-such-program"}, {}).hint_text(), "PATH is not set in it");
    const core::Error by_path = execute({"/nonexistent/program"}, {});
    EXPECT_EQ(by_path.kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(by_path.cause(), core::Cause::kNotFound);
    EXPECT_EQ(by_path.message(),
              "cannot start /nonexistent/program in the container: No such file or directory");
    EXPECT_EQ(execute({"/"}, {}).kind(), core::ErrorKind::kSystem) << "it is there";
}

TEST(env_container, only_a_working_directory_that_is_not_there_is_a_mistake) {
    const core::Error missing = workdir_error("/data", ENOENT);
    EXPECT_EQ(missing.kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(missing.cause(), core::Cause::kNotFound);
    EXPECT_THAT(missing.hint_text(), HasSubstr("mount one there"));
    for (int errno_value : {EACCES, EIO, ETIMEDOUT}) {
        const core::Error failed = workdir_error("/data", errno_value);
        EXPECT_EQ(failed.kind(), core::ErrorKind::kSystem) << errno_value;
        EXPECT_EQ(failed.cause(), core::cause_of_errno(errno_value)) << errno_value;
        EXPECT_EQ(failed.errno_value(), errno_value);
        EXPECT_EQ(failed.hint_text(), "");
    }
}

TEST(env_container, an_entrypoint_that_hangs_or_is_killed_is_no_mistake_of_the_person) {
    const core::Error ended = entrypoint_failure("/entry", core::ExitStatus{.code = 3}, "no such option\n");
    EXPECT_EQ(ended.kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(ended.message(), "the image's entrypoint /entry ended with exit status 3: no such option");
    const core::Error killed = entrypoint_failure("/entry", core::ExitStatus{.signal = 9}, "");
    EXPECT_EQ(killed.kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(killed.cause(), core::Cause::kEnded);
    EXPECT_EQ(killed.message(), "the image's entrypoint /entry ended with signal 9 (SIGKILL)");
    const core::Error hung = entrypoint_failure("/entry", std::nullopt, "");
    EXPECT_EQ(hung.kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(hung.cause(), core::Cause::kTimedOut);
}

// A process joins no user namespace that it is in already.
TEST(env_container, an_entrypoint_that_cannot_be_started_is_told_with_its_own_error) {
    const auto directory = core::TemporaryDirectory::create().value();
    int link[2] = {-1, -1};
    ASSERT_EQ(pipe2(link, O_CLOEXEC), 0);
    const core::Descriptor reader(link[0]), writer(link[1]);
    auto entered = run_entrypoint({"/bin/true"}, {}, "/", getpid(), directory.path(), writer.get());
    ASSERT_FALSE(entered);
    const core::Error& error = entered.error();
    EXPECT_EQ(error.kind(), core::ErrorKind::kSystem) << error.render();
    EXPECT_EQ(error.errno_value(), EINVAL);
    EXPECT_EQ(error.message(),
              "the image's entrypoint: cannot join the container's user namespace: Invalid argument");
    EXPECT_EQ(error.hint_text(), "");
}

}  // namespace belay::env
