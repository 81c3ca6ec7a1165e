// What core promises where a process waits for a file server that never answers and so outlives SIGKILL.
#include "core/fork.h"
#include "core/testing/hanging_directory.h"
#include "core/work.h"

#include <chrono>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::core::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// In a process of its own, since the directory moves whoever mounts it into namespaces.
void in_own_process(const std::function<int(HangingDirectory&)>& body,
                    const std::vector<std::string>& options = {}) {
    auto child = fork_process({.close_others = false}, [&] {
        auto directory = HangingDirectory::mount(options);
        if (!directory) {
            ADD_FAILURE() << directory.error().render();
            return 1;
        }
        const int status = body(**directory);
        (*directory)->let_go();
        return ::testing::Test::HasFailure() ? 1 : status;
    });
    ASSERT_TRUE(child) << child.error().render();
    EXPECT_TRUE(child->wait()->success());
}

TEST(core_testing, a_program_that_outlives_sigkill_is_left_behind_and_said) {
    in_own_process([](HangingDirectory& directory) {
        auto output = run({.argv = {"ls", directory.path()}}, {.timeout = 300ms});
        EXPECT_FALSE(output);
        EXPECT_EQ(output.error().cause(), Cause::kTimedOut);
        EXPECT_THAT(output.error().message(), HasSubstr("did not finish within 0.3 s"));
        EXPECT_THAT(output.error().message(), HasSubstr("it is blocked in the kernel, and was left behind"));
        EXPECT_EQ(reap_abandoned(), 1U);
        directory.let_go();
        for (int i = 0; i < 6000 && reap_abandoned() > 0; ++i) usleep(10'000);
        EXPECT_EQ(reap_abandoned(), 0U) << "it was reaped when it could end";
        return 0;
    });
}

TEST(core_testing, work_that_outlives_sigkill_is_left_behind_and_says_where_it_is) {
    in_own_process([](HangingDirectory& directory) {
        const std::string file = directory.path() / "file";
        auto text = run_within(300ms, {.what = "reading"}, [&] { return read_file(file); });
        EXPECT_FALSE(text);
        EXPECT_EQ(text.error().cause(), Cause::kTimedOut);
        EXPECT_THAT(
            text.error().message(),
            ::testing::StartsWith("reading: no answer within 300 ms (at: open " + file + "); process "));
        EXPECT_THAT(text.error().message(),
                    HasSubstr("did not end after SIGKILL: it is blocked in the kernel"));
        return 0;
    });
}

TEST(core_testing, a_program_whose_file_does_not_answer_is_not_waited_for) {
    in_own_process([](HangingDirectory& directory) {
        auto output = run({.argv = {directory.path() / "program"}}, {.timeout = 300ms});
        EXPECT_FALSE(output);
        EXPECT_EQ(output.error().cause(), Cause::kTimedOut) << output.error().render();
        Command searched{.argv = {"no-such-program"},
                         .environment_changes = {{"PATH", directory.path().string() + ":/usr/bin"}}};
        EXPECT_EQ(run(searched, {.timeout = 300ms}).error().cause(), Cause::kTimedOut);
        EXPECT_THAT(output.error().message(), HasSubstr("was left behind")) << output.error().render();
        return 0;
    });
}

TEST(core_testing, an_owner_of_a_process_that_outlives_sigkill_goes_on) {
    in_own_process([](HangingDirectory& directory) {
        {
            auto process = spawn({.argv = {"ls", directory.path()}});
            EXPECT_TRUE(process);
            EXPECT_FALSE(process->wait_for(300ms).value());
        }
        EXPECT_EQ(reap_abandoned(), 1U);
        return 0;
    });
}

// Its set-up closes a file whose server has to take what was written before.
TEST(core_testing, a_process_that_does_not_begin_in_time_is_left_behind_and_said) {
    in_own_process(
        [](HangingDirectory& directory) {
            const int file =
                ::open((directory.path() / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            EXPECT_GE(file, 0);
            const ForkOptions options{.name = "late", .set_up_time = 200ms};
            for (const Error& error : {fork_process(options, [] { return 0; }).error(),
                                       fork_detached(options, [] { return 0; }).error()}) {
                EXPECT_EQ(error.cause(), Cause::kTimedOut);
                EXPECT_THAT(error.message(),
                            HasSubstr("cannot start the process late: the new process did not"));
                EXPECT_THAT(error.message(), HasSubstr("it is blocked in the kernel, and was left behind"));
            }
            directory.let_go();
            ::close(file);
            return 0;
        },
        {"--hold", "closes"});
}

}  // namespace
}  // namespace belay::core::testing
