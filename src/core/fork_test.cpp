#include "core/fork.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

int code_of(const ForkOptions& options, const std::function<int()>& body) {
    return fork_process(options, body).value().wait().value().shell_status();
}

int count_descriptors() {
    int count = 0;
    for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
}

// Waits, for as long as a busy machine may take, until it is true.
bool soon(const std::function<bool()>& is_true) {
    for (int i = 0; i < 6000; ++i) {
        if (is_true()) return true;
        usleep(10'000);
    }
    return is_true();
}

TEST(core, fork_runs_a_function_and_gives_its_status) {
    EXPECT_EQ(code_of({}, [] { return 7; }), 7);
    EXPECT_EQ(code_of({}, []() -> int { throw std::runtime_error("x"); }), 125);
    EXPECT_EQ(code_of({}, [] { return raise(SIGKILL); }), 128 + SIGKILL);
}

TEST(core, fork_names_the_process) {
    auto name = [] {
        char text[16] = "";
        prctl(PR_GET_NAME, text);
        return std::string(text);
    };
    EXPECT_EQ(code_of({.name = "belay-abc"}, [&] { return name() == "belay-abc" ? 0 : 1; }), 0);
    const std::string before = name();
    EXPECT_EQ(code_of({}, [&] { return name() == before ? 0 : 1; }), 0);
}

TEST(core, fork_keeps_only_the_descriptors_that_are_named) {
    int open_ones[2];
    ASSERT_EQ(pipe(open_ones), 0);  // without O_CLOEXEC
    Descriptor reader(open_ones[0]), writer(open_ones[1]);
    EXPECT_EQ(code_of({.keep = {writer.get()}}, count_descriptors), 4);
    EXPECT_EQ(code_of({}, count_descriptors), 3);
    EXPECT_EQ(code_of({.keep = {writer.get()}}, [&] { return fcntl(reader.get(), F_GETFD) < 0 ? 0 : 1; }), 0);
    EXPECT_GE(code_of({.close_others = false}, count_descriptors), 5);
}

TEST(core, fork_gives_null_streams_where_that_is_asked) {
    auto is_null = [] {
        std::error_code ignored;
        for (int fd = 0; fd < 3; ++fd)
            if (std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), ignored) != "/dev/null")
                return 1;
        return 0;
    };
    EXPECT_EQ(code_of({.null_streams = true}, is_null), 0);
}

TEST(core, fork_of_a_process_without_streams_keeps_what_is_named) {
    // In a process of its own, whose descriptors 0 to 2 are closed: new ones get these numbers.
    auto outer = [] {
        for (int fd = 0; fd < 3; ++fd) close(fd);
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return 1;
        Descriptor kept(fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
        auto inner = fork_process({.null_streams = true, .keep = {kept.get()}},
                                  [&] { return write(kept.get(), "x", 1) == 1 ? 0 : 2; });
        return inner ? inner->wait().value().shell_status() : 3;
    };
    EXPECT_EQ(code_of({}, outer), 0);
}

TEST(core, fork_sets_signals_as_asked) {
    struct Case {
        ChildSignals signals;
        bool term_ignored, hup_ignored, usr1_ignored, chld_ignored;
    };
    std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGUSR1, [](int) {});
    for (const Case& expected : {Case{ChildSignals::kProgram, false, true, false, false},
                                 Case{ChildSignals::kDefault, false, false, false, false},
                                 Case{ChildSignals::kDeafHelper, true, true, true, false}}) {
        auto is_ignored = [](int signal) {
            struct sigaction action{};
            sigaction(signal, nullptr, &action);
            return action.sa_handler == SIG_IGN;
        };
        EXPECT_EQ(code_of({.signals = expected.signals},
                          [&] {
                              sigset_t mask;
                              sigprocmask(SIG_SETMASK, nullptr, &mask);
                              return is_ignored(SIGTERM) == expected.term_ignored &&
                                             is_ignored(SIGHUP) == expected.hup_ignored &&
                                             is_ignored(SIGUSR1) == expected.usr1_ignored &&
                                             is_ignored(SIGCHLD) == expected.chld_ignored &&
                                             !is_ignored(SIGSEGV) && sigismember(&mask, SIGTERM) == 0
                                         ? 0
                                         : 1;
                          }),
                  0);
    }
    std::signal(SIGHUP, SIG_DFL);
    std::signal(SIGUSR1, SIG_DFL);
}

TEST(core, fork_ends_with_its_parent_where_that_is_asked) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    auto parent = fork_process({.keep = {writer.get()}}, [&] {
        auto child = fork_process({.keep = {writer.get()}, .death_signal = SIGKILL}, [] {
            pause();
            return 0;
        });
        if (!child) return 1;
        child->detach();
        return write(writer.get(), "x", 1) == 1 ? 0 : 2;
    });
    writer.reset();
    EXPECT_TRUE(parent.value().wait().value().success());
    EXPECT_EQ(read_to_end(reader.get(), "the pipe").value(), "x") << "which the child held open";
}

TEST(core, fork_that_fails_says_which_call) {
    auto failed = fork_process({.name = "belay-abc", .keep = {1000}}, [] { return 0; });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(),
              "cannot start the process belay-abc: descriptors: Bad file descriptor");
    EXPECT_EQ(failed.error().errno_value(), EBADF);
    auto detached = fork_detached({.keep = {1000}}, [] { return 0; });
    ASSERT_FALSE(detached);
    EXPECT_EQ(detached.error().message(), "cannot start a process: descriptors: Bad file descriptor");
}

TEST(core, fork_leaves_no_zombie) {
    {
        auto child = fork_process({}, [] {
            pause();
            return 0;
        });
        ASSERT_TRUE(child);
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(core, fork_detached_is_not_a_child_and_can_be_killed) {
    auto process = fork_detached({.name = "belay-far"}, [] {
        pause();
        return 0;
    });
    ASSERT_TRUE(process);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "there is no child";
    EXPECT_EQ(::kill(process->pid(), 0), 0);
    EXPECT_FALSE(process->has_ended_within(0s));
    EXPECT_TRUE(process->kill());
    EXPECT_TRUE(process->has_ended_within(0s));
}

TEST(core, fork_detached_lives_on_without_its_parent) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    auto parent = fork_process({.keep = {writer.get()}}, [&] {
        pid_t self = getpid();
        auto far = fork_detached({.keep = {writer.get()}}, [&] {
            while (::kill(self, 0) == 0) usleep(1000);
            return write(writer.get(), "alive", 5) == 5 ? 0 : 1;
        });
        return far ? 0 : 1;
    });
    writer.reset();
    EXPECT_TRUE(parent.value().wait().value().success());
    EXPECT_EQ(read_to_end(reader.get(), "the pipe").value(), "alive");
}

TEST(core, fork_detached_is_followed_by_what_comes_afterwards_however_it_ends) {
    struct Shared {
        std::atomic<pid_t> orphan = -1;
        std::atomic<bool> was_ours = false;
    };
    for (const bool killed : {true, false}) {
        void* memory =
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        auto* shared = new (memory) Shared;
        auto end_orphan = [&] {
            ::kill(shared->orphan, SIGKILL);
            shared->was_ours = waitpid(shared->orphan, nullptr, 0) == shared->orphan;
            shared->orphan = -1;
        };
        auto leave_orphan = [&] {
            const pid_t child = fork();
            if (child == 0)
                for (;;) pause();
            shared->orphan = child;
            while (killed) pause();
            return 0;
        };
        auto process = fork_detached({.afterwards = end_orphan}, leave_orphan);
        ASSERT_TRUE(process) << process.error().render();
        EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "neither is a child of this process";
        if (killed) {
            EXPECT_TRUE(soon([&] { return shared->orphan > 0; }));
            EXPECT_TRUE(process->kill());
        }
        EXPECT_TRUE(soon([&] { return shared->was_ours.load(); }));
        EXPECT_TRUE(soon([&] { return shared->orphan == -1; }));
        munmap(memory, sizeof(Shared));
    }
}

TEST(core, fork_reaps_what_was_left_behind) {
    EXPECT_TRUE(soon([] { return reap_abandoned() == 0; }));
}

}  // namespace
}  // namespace belay::core
