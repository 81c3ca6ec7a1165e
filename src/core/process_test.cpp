#include "core/process.h"

#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

Command shell(std::string script) {
    return {.argv = {"sh", "-c", std::move(script)}};
}

std::string out_of(const Command& command, const RunOptions& options = {}) {
    auto output = run(command, options);
    return output ? output->out : "error: " + output.error().message();
}

// A process that is gone or a zombie does not run any more.
bool runs(pid_t pid) {
    auto stat = read_file(fmt::format("/proc/{}/stat", pid));
    if (!stat) return false;
    return stat->substr(stat->rfind(')') + 2, 1) != "Z";
}

TEST(core, process_exit_status_and_signal) {
    auto exited = spawn(shell("exit 7"));
    ASSERT_TRUE(exited);
    EXPECT_EQ(exited->wait().value(), (ExitStatus{.code = 7}));
    EXPECT_EQ(exited->wait().value().shell_status(), 7);  // asked again, the same answer
    auto killed = spawn(shell("kill -9 $$"));
    ASSERT_TRUE(killed);
    ExitStatus status = killed->wait().value();
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_EQ(status.describe(), "signal 9 (SIGKILL)");
    EXPECT_EQ(status.shell_status(), 137);
    EXPECT_FALSE(status.success());
}

TEST(core, process_missing_program_is_an_error_here) {
    auto process = spawn({.argv = {"no-such-program-of-belay"}});
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().message(), "no-such-program-of-belay: not found in PATH");
    EXPECT_EQ(process.error().kind(), ErrorKind::kSystem);
    auto by_path = spawn({.argv = {"/no/such/program"}});
    ASSERT_FALSE(by_path);
    EXPECT_EQ(by_path.error().message(), "cannot start /no/such/program: No such file or directory");
    EXPECT_FALSE(spawn({}));
}

TEST(core, process_reports_what_is_wrong_with_the_file_or_the_directory) {
    auto directory = TemporaryDirectory::create().value();
    std::string script = directory.path() / "script";
    ASSERT_TRUE(replace_file(script, "#!/no/such/interpreter\n", 0755));
    auto process = spawn({.argv = {script}});
    ASSERT_FALSE(process);
    EXPECT_THAT(process.error().hint_text(), HasSubstr("interpreter"));
    ASSERT_TRUE(replace_file(script, "exit 0\n", 0755));
    EXPECT_THAT(spawn({.argv = {script}}).error().hint_text(), HasSubstr("#!"));
    ASSERT_TRUE(replace_file(script, "#!/bin/sh\n", 0644));
    EXPECT_THAT(spawn({.argv = {script}}).error().message(), HasSubstr("Permission denied"));
    auto in_nowhere = spawn({.argv = {"true"}, .working_directory = "/no/such/directory"});
    ASSERT_FALSE(in_nowhere);
    EXPECT_THAT(in_nowhere.error().message(), HasSubstr("in /no/such/directory: No such file"));
}

TEST(core, process_environment_is_changed_or_replaced) {
    ASSERT_EQ(setenv("BELAY_PROCESS_TEST", "before", 1), 0);
    Command command = shell("echo \"$BELAY_PROCESS_TEST/$ADDED\"");
    EXPECT_EQ(out_of(command), "before/\n");
    command.environment_changes = {{"ADDED", "x y"}, {"BELAY_PROCESS_TEST", std::nullopt}};
    EXPECT_EQ(out_of(command), "/x y\n");
    Command replaced{.argv = {"env"}, .environment = Environment{{"ONLY", "this"}}};
    EXPECT_EQ(out_of(replaced), "ONLY=this\n");
    unsetenv("BELAY_PROCESS_TEST");
}

TEST(core, process_program_is_searched_in_the_path_of_the_child) {
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(replace_file(directory.path() / "tool", "#!/bin/sh\necho found\n", 0755));
    Command command{.argv = {"tool"},
                    .environment = Environment{{"PATH", "/nowhere:" + directory.path().string()}}};
    EXPECT_EQ(out_of(command), "found\n");
    EXPECT_EQ(find_program("tool", directory.path().string()).value(), directory.path() / "tool");
    EXPECT_FALSE(find_program("", "/usr/bin"));
}

TEST(core, process_program_that_may_not_be_executed_is_denied_also_in_a_path) {
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(replace_file(directory.path() / "tool", "#!/bin/sh\n", 0644));
    const std::string path = "/nowhere:" + directory.path().string() + ":/usr/bin";
    for (const Error& error :
         {find_program("tool", path).error(),
          run({.argv = {"tool"}, .environment = Environment{{"PATH", path}}}, {}).error()}) {
        EXPECT_EQ(error.cause(), Cause::kDenied);
        EXPECT_THAT(error.message(), HasSubstr((directory.path() / "tool").string() + ": Permission denied"));
    }
    EXPECT_EQ(find_program("no-such-tool", path).error().cause(), Cause::kNotFound);
}

TEST(core, process_working_directory) {
    auto directory = TemporaryDirectory::create().value();
    Command command = shell("pwd -P");
    command.working_directory = directory.path();
    EXPECT_EQ(out_of(command), std::filesystem::canonical(directory.path()).string() + "\n");
}

TEST(core, process_descriptors_can_be_swapped) {
    auto directory = TemporaryDirectory::create().value();
    std::string path = directory.path() / "out";
    auto file = open_file(path, O_CREAT | O_RDWR).value();
    Command command = shell("echo to-out; echo to-err >&2");
    command.stdout_fd = file.get();
    command.stderr_fd = file.get();
    EXPECT_TRUE(spawn(command).value().wait().value().success());
    EXPECT_EQ(read_file(path).value(), "to-out\nto-err\n");
    // 1 and 2 themselves exchanged: neither may overwrite the other on its way
    auto swapped_out = open_file(directory.path() / "1", O_CREAT | O_RDWR).value();
    auto swapped_err = open_file(directory.path() / "2", O_CREAT | O_RDWR).value();
    Descriptor saved_out(fcntl(1, F_DUPFD_CLOEXEC, 3)), saved_err(fcntl(2, F_DUPFD_CLOEXEC, 3));
    dup2(swapped_out.get(), 1);
    dup2(swapped_err.get(), 2);
    command.stdout_fd = 2;
    command.stderr_fd = 1;
    auto process = spawn(command);
    dup2(saved_out.get(), 1);
    dup2(saved_err.get(), 2);
    EXPECT_TRUE(process.value().wait().value().success());
    EXPECT_EQ(read_file(directory.path() / "2").value(), "to-out\n");
    EXPECT_EQ(read_file(directory.path() / "1").value(), "to-err\n");
}

TEST(core, process_inherits_only_what_is_kept) {
    auto file = open_file("/dev/null", O_RDONLY).value();
    Command command = shell(fmt::format("test -e /proc/self/fd/{}", file.get()));
    EXPECT_FALSE(spawn(command).value().wait().value().success());
    command.keep_descriptors = {file.get()};
    EXPECT_TRUE(spawn(command).value().wait().value().success());
    command.keep_descriptors = {987654};
    EXPECT_THAT(spawn(command).error().message(), HasSubstr("descriptors: Bad file descriptor"));
}

TEST(core, process_starts_with_a_clean_signal_state) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    auto old_handler = signal(SIGPIPE, SIG_IGN);
    std::string status = out_of({.argv = {"cat", "/proc/self/status"}});
    signal(SIGPIPE, old_handler);
    pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
    EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
    auto ignored = std::stoull(status.substr(status.find("SigIgn:\t") + 8, 16), nullptr, 16);
    EXPECT_EQ(ignored >> (SIGPIPE - 1) & 1, 0U);
}

TEST(core, process_wait_for_looks_without_waiting) {
    auto process = spawn({.argv = {"sleep", "1000"}}).value();
    EXPECT_EQ(process.wait_for(0s).value(), std::nullopt);
    EXPECT_EQ(process.wait_for(1ms).value(), std::nullopt);
    ASSERT_TRUE(process.kill(SIGTERM));
    EXPECT_EQ(process.wait_for(100s).value()->signal, SIGTERM);
    EXPECT_TRUE(process.kill(SIGTERM));  // one that has ended is no error
}

TEST(core, process_stop_ends_one_that_ignores_sigterm) {
    Command stubborn = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    stubborn.stdout_fd = writer.get();
    stubborn.new_process_group = true;
    auto process = spawn(stubborn).value();
    char ready;
    ASSERT_EQ(read(reader.get(), &ready, 1), 1);  // the trap is set
    EXPECT_EQ(process.stop(20ms).value().signal, SIGKILL);
}

TEST(core, process_left_running_is_killed_and_reaped) {
    pid_t pid = 0;
    {
        auto process = spawn({.argv = {"sleep", "1000"}}).value();
        pid = process.pid();
        EXPECT_TRUE(runs(pid));
        Process moved = std::move(process);
        EXPECT_TRUE(runs(pid));
    }
    EXPECT_FALSE(std::filesystem::exists(fmt::format("/proc/{}", pid)));
}

TEST(core, process_group_dies_with_its_leader) {
    auto directory = TemporaryDirectory::create().value();
    std::string path = directory.path() / "pid";
    pid_t grandchild = 0;
    {
        Command command = shell(fmt::format("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", path));
        command.new_process_group = true;
        auto process = spawn(command).value();
        while (access(path.c_str(), F_OK) != 0) usleep(1000);
        grandchild = std::stoi(read_file(path).value());
        EXPECT_TRUE(runs(grandchild));
    }
    for (int i = 0; i < 5000 && runs(grandchild); ++i) usleep(1000);  // reaped by init, a moment later
    EXPECT_FALSE(runs(grandchild));
}

TEST(core, process_detached_lives_on) {
    auto directory = TemporaryDirectory::create().value();
    pid_t pid = 0;
    {
        auto process = spawn({.argv = {"sleep", "1000"}}).value();
        pid = process.pid();
        process.detach();
    }
    EXPECT_TRUE(runs(pid));
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST(core, process_pidfd_is_readable_at_the_end) {
    auto process = spawn(shell("exit 3")).value();
    pollfd entry{.fd = process.pidfd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&entry, 1, 100'000), 1);
    EXPECT_EQ(process.wait_for(0s).value(), (ExitStatus{.code = 3}));
}

TEST(core, process_run_captures_both_streams_without_deadlock) {
    // More than a pipe holds, on both, in turns.
    auto output = run(
        shell("for i in 1 2 3 4; do head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; done; exit 5"));
    ASSERT_TRUE(output);
    EXPECT_EQ(output->out.size(), 1'200'000U);
    EXPECT_EQ(output->err.size(), 1'200'000U);
    EXPECT_EQ(output->status.code, 5);
}

TEST(core, process_run_feeds_input) {
    std::string input(1'000'000, 'x');
    EXPECT_EQ(out_of({.argv = {"cat"}}, {.input = input}), input);
    EXPECT_EQ(out_of({.argv = {"cat"}}), "");                     // not the terminal
    EXPECT_EQ(out_of({.argv = {"true"}}, {.input = input}), "");  // never read: no SIGPIPE here
}

TEST(core, process_run_is_killed_at_the_deadline) {
    auto output = run({.argv = {"sleep", "1000"}}, {.timeout = 20ms});
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().message(), "sleep 1000: did not finish within 0.02 s; killed");
    EXPECT_EQ(output.error().kind(), ErrorKind::kSystem);
}

TEST(core, process_run_is_killed_when_it_writes_too_much) {
    auto output = run({.argv = {"cat", "/dev/zero"}}, {.output_limit = 100'000});
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().message(), "cat /dev/zero: wrote more than 100000 bytes");
}

TEST(core, process_run_does_not_wait_for_grandchildren) {
    auto output = run(shell("sleep 1000 & echo $!"), {.timeout = 100s});
    ASSERT_TRUE(output) << output.error().message();
    pid_t grandchild = std::stoi(output->out);
    EXPECT_TRUE(runs(grandchild));
    kill(grandchild, SIGKILL);
}

TEST(core, process_output_of_wants_success) {
    EXPECT_EQ(output_of({.argv = {"echo", "yes"}}).value(), "yes\n");
    auto failed = output_of(shell("echo first >&2; echo 'the reason' >&2; exit 4"));
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), StartsWith("sh -c "));
    EXPECT_THAT(failed.error().message(), testing::EndsWith(": exit status 4: the reason"));
}

TEST(core, process_quote_command) {
    std::vector<std::string> argv{"srun", "-N2", "a b", "it's", "", "$HOME"};
    EXPECT_EQ(quote_command(argv), R"(srun -N2 'a b' 'it'\''s' '' '$HOME')");
    EXPECT_EQ(out_of(shell("printf '%s|' " + quote_command(argv))), "srun|-N2|a b|it's||$HOME|");
}

}  // namespace
}  // namespace belay::core
