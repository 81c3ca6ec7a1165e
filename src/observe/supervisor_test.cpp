#include "observe/supervisor.h"

#include "core/file.h"
#include "core/fork.h"
#include "core/text.h"
#include "observe/record_begin.h"
#include "procfs/pid_stat.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::observe {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// What a supervised command did, seen from outside: by its end and what came through.
struct Seen {
    core::ExitStatus status;
    std::string out, err;
};

class Supervised {
  public:
    fs::path record() const { return place_.path() / "record"; }
    fs::path file(const char* name) const { return place_.path() / name; }

    // Runs it in a process of its own, as `belay record run` does, and calls `meanwhile` with that process's
    // id.
    Seen run(const std::string& script, const std::function<void(pid_t)>& meanwhile = nullptr,
             bool begin = true) {
        core::Descriptor out = core::open_file(file("out"), O_RDWR | O_CREAT | O_TRUNC).value();
        core::Descriptor err = core::open_file(file("err"), O_RDWR | O_CREAT | O_TRUNC).value();
        auto body = [&] {
            dup2(out.get(), STDOUT_FILENO);
            dup2(err.get(), STDERR_FILENO);
            return supervise_here(script, begin);
        };
        auto process = core::fork_process({.keep = {out.get(), err.get()}}, body).value();
        if (meanwhile) meanwhile(process.pid());
        if (::testing::Test::HasFatalFailure()) (void)process.kill(SIGKILL);  // it may wait for the rest
        Seen seen{.status = process.wait().value(), .out = {}, .err = {}};
        seen.out = core::read_file(file("out")).value();
        seen.err = core::read_file(file("err")).value();
        return seen;
    }

    // Until the command says so, for as long as a busy machine may need.
    bool waits_for(const char* name) const {
        for (int i = 0; i < 6000 && !fs::exists(file(name)); ++i) usleep(10'000);
        return fs::exists(file(name));
    }

  private:
    int supervise_here(const std::string& script, bool begin) const {
        Placement placement;
        placement.node = "n1";
        const core::Time now = core::system_clock().now();
        RecordBegin options{.record = record(),
                            .command = {"sh"},
                            .interval = std::chrono::milliseconds(50),
                            .flush = std::chrono::milliseconds(100)};
        if (begin && !begin_job_record(options, placement, now)) return 99;
        auto status = supervise({.argv = {"sh", "-c", "cd '" + place_.path().string() + "'; " + script}},
                                {.record = record(),
                                 .interval = options.interval,
                                 .flush = options.flush,
                                 .command_name = "sh",
                                 .allocation_start = now},
                                placement);
        return status ? core::end_like(*status) : 98;
    }

    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("supervisor_test").value();
};

std::vector<fs::path> segments(const fs::path& record) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (fs::directory_iterator it(record / "segments", ignored), end; it != end; it.increment(ignored))
        if (it->path().extension() == ".seg") files.push_back(it->path());
    return files;
}

// The recorder is the child of the supervisor that is not the command.
pid_t recorder_of(pid_t supervisor) {
    std::error_code ignored;
    for (fs::directory_iterator it("/proc", ignored), end; it != end; it.increment(ignored)) {
        auto pid = core::parse_number<pid_t>(it->path().filename().string());
        auto text = pid ? core::read_file(it->path() / "stat") : core::Result<std::string>("");
        auto stat = text ? procfs::parse_pid_stat(*text) : std::nullopt;
        if (stat && stat->parent_pid == supervisor && stat->command != "sh") return *pid;
    }
    return -1;
}

}  // namespace

TEST(observe, a_step_of_slurm_is_known_by_its_cgroup) {
    EXPECT_TRUE(is_in_step_cgroup("0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_0\n"));
    EXPECT_TRUE(is_in_step_cgroup("4:freezer:/slurm_n1/uid_0/job_12/step_3\n0::/init.scope\n"));
    EXPECT_FALSE(is_in_step_cgroup("0::/user.slice/user-0.slice/session-1.scope\n"));
    EXPECT_FALSE(is_in_step_cgroup("5:cpuset:/step_0\n4:freezer:/job_1\n"));
    EXPECT_FALSE(is_in_step_cgroup(""));
}

TEST(observe, supervised_commands_keep_their_output_and_status) {
    Supervised supervised;
    Seen seen = supervised.run("printf 'a\\0b'; printf c >&2; exit 7");
    EXPECT_EQ(seen.status, (core::ExitStatus{.code = 7}));
    EXPECT_EQ(seen.out, std::string("a\0b", 3));
    EXPECT_EQ(seen.err, "c");
    EXPECT_EQ(segments(supervised.record()).size(), 1U);
}

TEST(observe, supervised_commands_that_a_signal_ends_look_so) {
    Supervised supervised;
    EXPECT_EQ(supervised.run("kill -USR2 $$").status.signal, SIGUSR2);
}

TEST(observe, signals_for_the_supervisor_reach_the_command) {
    Supervised supervised;
    auto ask = [&](pid_t supervisor) {
        ASSERT_TRUE(supervised.waits_for("ready"));
        kill(supervisor, SIGTERM);
    };
    Seen seen = supervised.run("trap 'echo asked; exit 3' TERM; : >ready; while :; do sleep 0.02; done", ask);
    EXPECT_EQ(seen.status, (core::ExitStatus{.code = 3}));
    EXPECT_EQ(seen.out, "asked\n");
}

TEST(observe, a_recorder_that_is_killed_is_replaced_and_the_command_goes_on) {
    Supervised supervised;
    auto shoot = [&](pid_t supervisor) {
        ASSERT_TRUE(supervised.waits_for("ready"));
        for (int i = 0; i < 6000 && segments(supervised.record()).empty(); ++i) usleep(10'000);
        const pid_t recorder = recorder_of(supervisor);
        ASSERT_GT(recorder, 0);
        kill(recorder, SIGKILL);
        for (int i = 0; i < 6000 && segments(supervised.record()).size() < 2; ++i) usleep(10'000);
        std::filesystem::rename(supervised.file("ready"), supervised.file("go"));
    };
    Seen seen = supervised.run(": >ready; until [ -e go ]; do sleep 0.02; done; echo done", shoot);
    EXPECT_TRUE(seen.status.success());
    EXPECT_EQ(seen.out, "done\n");
    EXPECT_THAT(seen.err,
                HasSubstr("the recorder was killed by signal 9; it is started again, the job goes on"));
    EXPECT_EQ(segments(supervised.record()).size(), 2U);
}

TEST(observe, a_recorder_that_fails_says_so_and_the_command_goes_on) {
    Supervised supervised;
    Seen seen = supervised.run("sleep 0.2; echo done", nullptr, false);  // there is no record to write into
    EXPECT_TRUE(seen.status.success());
    EXPECT_EQ(seen.out, "done\n");
    EXPECT_THAT(seen.err, HasSubstr("the job goes on")) << "its words come through the supervisor";
}

TEST(observe, a_recorder_holds_no_stream_of_its_step) {
    Supervised supervised;
    auto look = [&](pid_t supervisor) {
        ASSERT_TRUE(supervised.waits_for("ready"));
        for (int i = 0; i < 6000 && segments(supervised.record()).empty(); ++i) usleep(10'000);
        const pid_t recorder = recorder_of(supervisor);
        ASSERT_GT(recorder, 0);
        std::error_code ignored;
        for (const char* name : {"out", "err"})
            for (int fd = 0; fd < 64; ++fd)
                EXPECT_NE(fs::read_symlink(fmt::format("/proc/{}/fd/{}", recorder, fd), ignored),
                          supervised.file(name));
        fs::rename(supervised.file("ready"), supervised.file("go"));
    };
    EXPECT_TRUE(supervised.run(": >ready; until [ -e go ]; do sleep 0.02; done", look).status.success());
}

TEST(observe, commands_that_cannot_be_started_are_errors) {
    Supervised supervised;
    auto started = core::fork_process({}, [&] {
        Placement placement;
        auto status = supervise({.argv = {"/no/such/program"}}, {.record = supervised.record()}, placement);
        return !status && status.error().cause() == core::Cause::kNotFound ? 0 : 1;
    });
    EXPECT_TRUE(started.value().wait()->success());
}

}  // namespace belay::observe
