#include "spank/plain/output.h"

#include "core/file.h"

#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Printed {
    std::string text;  // "none" if there is none
    size_t length;
    std::string messages;
};

char* output_of_shell(const std::string& script, size_t limit, size_t& length) {
    std::string words[] = {"sh", "-c", script};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    return output_of("/bin/sh", arguments, limit, length);
}

Printed print(const std::string& script, size_t limit = 1000) {
    size_t length = 12345;
    testing::internal::CaptureStderr();
    char* text = output_of_shell(script, limit, length);
    Printed printed{text == nullptr ? "none" : text, length, testing::internal::GetCapturedStderr()};
    free(text);
    return printed;
}

// A shell script that runs while a process with blocked signals, as srun, waits for its output.
class Waiting {
  public:
    explicit Waiting(const std::string& script, const std::string& before_start = ":") {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) abort();
        core::Descriptor theirs(ends[1]);
        held_ = core::Descriptor(ends[0]);
        sigset_t all;
        sigset_t mask;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &mask);
        child_ = fork();
        if (child_ == 0) {
            fcntl(theirs.get(), F_SETFD, 0);
            size_t length = 0;
            bool none = output_of_shell(
                            fmt::format("exec 7>&{}; {}; echo >&7; {}", theirs.get(), before_start, script),
                            1000, length) == nullptr;
            _exit(none && length == 0 ? 7 : 8);
        }
        sigprocmask(SIG_SETMASK, &mask, nullptr);
        char started = 0;
        theirs.reset();
        EXPECT_EQ(read(held_.get(), &started, 1), 1);
    }

    int end_by(int signal) {
        kill(child_, signal);
        int status = 0;
        waitpid(child_, &status, 0);
        return status;
    }

    // Returns when the script and all it has started are gone.
    void wait_for_script() { EXPECT_TRUE(core::read_to_end(held_.get(), "pipe")); }

  private:
    core::Descriptor held_;
    pid_t child_ = -1;
};

}  // namespace

TEST(spank, what_a_program_prints_is_taken) {
    Printed printed = print("printf 'two\nlines'");
    EXPECT_EQ(printed.text, "two\nlines");
    EXPECT_EQ(printed.length, 9U);
    EXPECT_EQ(printed.messages, "");
    EXPECT_EQ(print("true").text, "");
}

TEST(spank, a_program_that_prints_too_much_is_heard_to_the_end) {
    constexpr size_t kLimit = size_t{120} << 10;
    for (size_t size : {kLimit - 1, kLimit, kLimit + 1, size_t{128} << 10, size_t{204043}}) {
        Printed printed = print(fmt::format("head -c {} /dev/zero | tr '\\0' x", size), kLimit);
        EXPECT_EQ(printed.text, size <= kLimit ? std::string(size, 'x') : "none");
        EXPECT_EQ(printed.length, size);
        EXPECT_EQ(printed.messages, "");
    }
}

TEST(spank, a_program_that_fails_has_printed_nothing) {
    for (const char* script : {"echo a plan; exit 3", "head -c 2000 /dev/zero; exit 1"}) {
        Printed printed = print(script);
        EXPECT_EQ(printed.text, "none");
        EXPECT_EQ(printed.length, 0U);
        EXPECT_EQ(printed.messages, "");
    }
    EXPECT_THAT(print("echo a plan; kill -9 $$").messages, HasSubstr("/bin/sh: ended by signal 9"));
}

TEST(spank, a_program_that_is_not_there_is_named) {
    char* arguments[] = {nullptr};
    size_t length = 0;
    testing::internal::CaptureStderr();
    EXPECT_EQ(output_of("/nonexistent/program", arguments, 10, length), nullptr);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                StartsWith("belay: /nonexistent/program: No such file"));
}

TEST(spank, a_program_whose_end_is_not_seen_has_failed) {
    auto before = std::signal(SIGCHLD, SIG_IGN);
    Printed printed = print("echo a plan");
    std::signal(SIGCHLD, before);
    EXPECT_EQ(printed.text, "none");
    EXPECT_THAT(printed.messages, HasSubstr("its end was not seen"));
}

TEST(spank, waiting_for_a_program_ends_by_signals_that_are_blocked) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        for (const char* script : {"exec sleep 1000", "exec sleep 1000 >&-"}) {
            Waiting waiting(script);
            EXPECT_EQ(waiting.end_by(signal), 7 << 8) << script;
            waiting.wait_for_script();
        }
    }
}

TEST(spank, a_program_that_does_not_want_to_end_is_killed) {
    Waiting waiting("exec sleep 1000", "trap '' TERM");
    EXPECT_EQ(waiting.end_by(SIGTERM), 7 << 8);
    waiting.wait_for_script();
}

TEST(spank, a_program_ends_with_whoever_waits_for_it) {
    Waiting waiting("exec sleep 1000");
    EXPECT_EQ(waiting.end_by(SIGKILL), SIGKILL);
    waiting.wait_for_script();
}

}  // namespace belay::spank
