#include "observe/collect/mount_probe.h"

#include "core/file.h"
#include "core/text.h"
#include "procfs/pid_stat.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::observe::collect {
namespace {

using namespace std::chrono_literals;
using Outcome = MountProbe::Outcome;

constexpr core::Duration kPlenty = 10s;

int answer(const char* path, struct statvfs* size) {
    *size = {};
    if (std::strcmp(path, "/hang") == 0)
        while (true) pause();
    if (std::strcmp(path, "/die") == 0) _exit(7);
    if (std::strcmp(path, "/fail") == 0) {
        errno = ENOTCONN;
        return -1;
    }
    size->f_blocks = std::strlen(path);
    return 0;
}

std::vector<Outcome> outcomes(MountProbe& probe, const std::vector<std::string>& paths) {
    std::vector<Outcome> result;
    for (const MountProbe::Answer& one : probe.ask(paths)) result.push_back(one.outcome);
    return result;
}

bool is_alive(pid_t pid) {
    core::Result<std::string> text = core::read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!text) return false;
    std::optional<procfs::PidStat> stat = procfs::parse_pid_stat(*text);
    return stat && stat->state != 'Z';
}

bool ends_soon(pid_t pid) {
    for (int i = 0; i < 1000 && is_alive(pid); ++i) usleep(10'000);
    return !is_alive(pid);
}

TEST(observe_collect, probe_answers_for_each_path) {
    MountProbe probe(answer, kPlenty);
    EXPECT_TRUE(probe.ask({}).empty());
    EXPECT_EQ(probe.child(), -1);
    std::vector<std::string> paths = {"/a", "/fail", "/abcde"};
    std::vector<MountProbe::Answer> answers = probe.ask(paths);
    ASSERT_EQ(answers.size(), 3u);
    EXPECT_EQ(answers[0].outcome, Outcome::kAnswered);
    EXPECT_EQ(answers[0].size.f_blocks, 2u);
    EXPECT_EQ(answers[1].outcome, Outcome::kFailed);
    EXPECT_EQ(answers[1].error, ENOTCONN);
    EXPECT_EQ(answers[2].size.f_blocks, 6u);
    pid_t child = probe.child();
    probe.ask(paths);
    EXPECT_EQ(probe.child(), child);  // one child serves all ticks
    EXPECT_GT(probe.cpu_seconds(), 0);
}

TEST(observe_collect, probe_replaces_a_child_that_hangs) {
    MountProbe probe(answer, 1s);
    std::vector<std::string> paths = {"/a", "/hang", "/b"};
    EXPECT_EQ(outcomes(probe, paths),
              (std::vector{Outcome::kAnswered, Outcome::kSilent, Outcome::kNotAsked}));
    EXPECT_EQ(probe.child(), -1);
    EXPECT_EQ(outcomes(probe, {"/a", "/b"}), (std::vector{Outcome::kAnswered, Outcome::kAnswered}));
}

TEST(observe_collect, probe_leaves_no_zombie_and_no_stuck_child) {
    pid_t hanging = -1, idle = -1;
    {
        MountProbe probe(answer, 200ms);
        std::vector<std::string> paths = {"/hang"};
        probe.ask(std::vector<std::string>{"/a"});
        idle = probe.child();
        probe.ask(paths);  // other paths: another child
        EXPECT_FALSE(is_alive(idle));
        for (int i = 0; i < 1000 && probe.is_stuck("/hang"); ++i) usleep(10'000);
        EXPECT_FALSE(probe.is_stuck("/hang"));
        probe.ask(std::vector<std::string>{"/a"});
        hanging = probe.child();
        EXPECT_TRUE(is_alive(hanging));
    }
    for (pid_t pid : {hanging, idle}) {
        EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
    }
}

TEST(observe_collect, probe_survives_a_child_that_dies) {
    MountProbe probe(answer, kPlenty);
    EXPECT_EQ(outcomes(probe, {"/a", "/die", "/b"}),
              (std::vector{Outcome::kAnswered, Outcome::kNotAsked, Outcome::kNotAsked}));
    ASSERT_TRUE(probe.problem());
    EXPECT_EQ(probe.problem()->cause(), core::Cause::kEnded);
    EXPECT_EQ(probe.problem()->message(),
              "the process that asks file systems ended without an answer, with exit status 7");
    EXPECT_EQ(outcomes(probe, {"/a"}), std::vector{Outcome::kAnswered});
    EXPECT_FALSE(probe.problem());
    kill(probe.child(), SIGKILL);
    ASSERT_TRUE(ends_soon(probe.child()));
    outcomes(probe, {"/a"});  // notices
    EXPECT_EQ(outcomes(probe, {"/a"}), std::vector{Outcome::kAnswered});
}

// No descriptor can be opened, so no child either, while this lives.
class NoMoreDescriptors {
  public:
    NoMoreDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit few{STDERR_FILENO + 1, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
    }
    ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST(observe_collect, probe_says_why_it_has_no_child_and_goes_on) {
    MountProbe probe(answer, kPlenty);
    {
        NoMoreDescriptors none;
        EXPECT_EQ(outcomes(probe, {"/a", "/b"}), (std::vector{Outcome::kNotAsked, Outcome::kNotAsked}));
        ASSERT_TRUE(probe.problem());
        EXPECT_EQ(probe.problem()->errno_value(), EMFILE);
    }
    EXPECT_EQ(outcomes(probe, {"/a"}), std::vector{Outcome::kAnswered});
    EXPECT_FALSE(probe.problem());
}

TEST(observe_collect, probe_child_ignores_the_signals_of_a_job) {
    MountProbe probe(answer, kPlenty);
    std::vector<std::string> paths = {"/a"};
    probe.ask(paths);
    pid_t child = probe.child();
    for (int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM}) kill(child, number);
    EXPECT_EQ(outcomes(probe, paths), std::vector{Outcome::kAnswered});
    EXPECT_EQ(probe.child(), child);
}

TEST(observe_collect, probe_child_holds_no_descriptor_of_ours) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);  // without O_CLOEXEC
    MountProbe probe(answer, kPlenty);
    probe.ask(std::vector<std::string>{"/a"});
    std::string directory = "/proc/" + std::to_string(probe.child());
    std::vector<std::string> held;
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/fd"))
        held.push_back(std::filesystem::read_symlink(entry.path()).string());
    std::ranges::sort(held);
    ASSERT_EQ(held.size(), 4u);
    EXPECT_EQ(std::ranges::count(held, "/dev/null"), 3);
    EXPECT_TRUE(held.back().starts_with("socket:")) << held.back();
    EXPECT_EQ(std::filesystem::read_symlink(directory + "/cwd"), "/");

    close(pipe_ends[1]);
    char byte = 0;
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);  // the child keeps no writing end open
    close(pipe_ends[0]);
}

// A process that owns a probe tells the id of the probe's child, then asks it something to which it has no
// answer.
[[noreturn]] void own_a_probe(int report, bool hangs) {
    auto hangs_at_the_second_time = [hangs, calls = 0](const char* path, struct statvfs* size) mutable {
        return answer(hangs && calls++ > 0 ? "/hang" : path, size);
    };
    MountProbe probe(hangs_at_the_second_time, 1h);
    std::vector<std::string> paths = {"/a"};
    probe.ask(paths);
    pid_t child = probe.child();
    if (write(report, &child, sizeof child) != sizeof child) _exit(1);
    probe.ask(paths);
    while (true) pause();
}

TEST(observe_collect, probe_child_ends_when_its_owner_is_killed) {
    for (bool hangs : {false, true}) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        pid_t owner = fork();
        if (owner == 0) own_a_probe(ends[1], hangs);
        close(ends[1]);
        pid_t child = -1;
        ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
        close(ends[0]);
        EXPECT_TRUE(is_alive(child));
        usleep(100'000);  // time to hang
        kill(owner, SIGKILL);
        waitpid(owner, nullptr, 0);
        EXPECT_TRUE(ends_soon(child)) << hangs;
    }
}

}  // namespace
}  // namespace belay::observe::collect
