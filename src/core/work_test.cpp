#include "core/work.h"

#include "core/file.h"
#include "core/fork.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration kPlenty = 100s;  // of a busy machine; not waited for

TEST(core, work_brings_its_answer_back) {
    EXPECT_EQ(run_within(kPlenty, {.what = "counting"}, [] { return Result<std::string>("a\0b"); }).value(),
              "a");
    const std::string large(size_t{3} << 20, 'x');
    EXPECT_EQ(run_within(kPlenty, {.what = "counting"}, [&] { return Result<std::string>(large); }).value(),
              large);
    EXPECT_TRUE(check_within(kPlenty, {.what = "counting"}, [] { return Result<>(); }));
}

TEST(core, work_brings_its_whole_error_back) {
    auto failed = check_within(kPlenty, {.what = "reading"}, []() -> Result<> {
        return bad_input("{} is wrong", "x").hint("make it right").because(Cause::kDenied);
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), ErrorKind::kBadInput);
    EXPECT_EQ(failed.error().cause(), Cause::kDenied);
    EXPECT_EQ(failed.error().message(), "x is wrong");
    EXPECT_EQ(failed.error().hint_text(), "make it right");
    auto thrown = run_within(kPlenty, {.what = "reading"},
                             []() -> Result<std::string> { throw std::runtime_error("no memory"); });
    EXPECT_EQ(thrown.error().message(), "internal error: no memory");
    auto too_much = run_within(kPlenty, {.what = "reading", .limit = 10},
                               [] { return Result<std::string>(std::string(11, 'x')); });
    EXPECT_EQ(too_much.error().message(), "an answer of more than 10 bytes");
}

TEST(core, work_that_crashes_says_where) {
    auto crashed = run_within(kPlenty, {.what = "reading"}, []() -> Result<std::string> {
        note_activity("open", "/some/file");
        raise(SIGKILL);
        return "";
    });
    ASSERT_FALSE(crashed);
    EXPECT_EQ(crashed.error().cause(), Cause::kEnded);
    EXPECT_EQ(crashed.error().message(),
              "reading: the process ended without an answer, with signal 9 (SIGKILL) (at: open /some/file)");
}

TEST(core, work_that_hangs_is_given_up_and_says_what_did_not_answer) {
    auto directory = TemporaryDirectory::create().value();
    const std::string fifo = directory.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    auto work = Work::start({.what = "reading"}, [&]() -> Result<std::string> {
                    BELAY_TRY(fd, open_file(fifo, O_RDONLY));  // nobody writes
                    return "opened";
                }).value();
    const pid_t pid = work.pid();
    // Not by the clock: until it is at the call that hangs.
    for (int i = 0; i < 60'000 && work.activity().empty(); ++i) std::this_thread::sleep_for(1ms);
    auto late = work.finish(Deadline::after(10ms));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().cause(), Cause::kTimedOut);
    EXPECT_TRUE(late.error().message().starts_with("reading: no answer within ")) << late.error().message();
    EXPECT_TRUE(late.error().message().ends_with(" ms (at: open " + fifo + ")")) << late.error().message();
    EXPECT_EQ(kill(pid, 0), -1) << "it was killed and reaped";
}

TEST(core, work_holds_nothing_of_the_job) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);  // without O_CLOEXEC
    Descriptor reader(ends[0]), writer(ends[1]);
    auto work = Work::start({.what = "waiting"}, []() -> Result<std::string> {
                    pause();
                    return "";
                }).value();
    writer.reset();
    EXPECT_EQ(read_to_end(reader.get(), "the pipe").value(), "") << "its only other end is closed";
    EXPECT_FALSE(work.poll_result());
}

TEST(core, work_may_use_what_it_is_given) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    auto done = check_within(kPlenty, {.what = "writing", .keep = {writer.get()}},
                             [&] { return write_all(writer.get(), "hello", "the pipe"); });
    EXPECT_TRUE(done);
    writer.reset();
    EXPECT_EQ(read_to_end(reader.get(), "the pipe").value(), "hello");
}

// Runs `body` with a pipe as this process's standard output and error.
std::string written_by(const std::function<void()>& body) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    auto child = fork_process({.close_others = false}, [&] {
                     dup2(writer.get(), STDOUT_FILENO);
                     dup2(writer.get(), STDERR_FILENO);
                     writer.reset();
                     body();
                     return 0;
                 }).value();
    writer.reset();
    std::string text = read_to_end(reader.get(), "the pipe", size_t{4} << 20).value();
    EXPECT_TRUE(child.wait()->success());
    return text;
}

Result<std::string> say(std::string_view text, int fd) {
    BELAY_CHECK(write_all(fd, text, "it"));
    return "";
}

TEST(core, what_work_says_is_carried_on_in_order) {
    EXPECT_EQ(written_by([] {
                  (void)run_within(kPlenty, {.what = "talking", .streams = WorkStreams::kOurs}, [] {
                      (void)say("one ", STDOUT_FILENO);
                      (void)say("two ", STDERR_FILENO);
                      return say("three ", STDOUT_FILENO);
                  });
                  (void)say("four", STDOUT_FILENO);
              }),
              "one two three four");
    const std::string much(size_t{3} << 20, 'x');
    EXPECT_EQ(written_by([&] {
                  auto work = Work::start({.what = "talking", .streams = WorkStreams::kOurs},
                                          [&] { return say(much, STDOUT_FILENO); });
                  (void)work->finish_unless_stalled(kPlenty);
              }),
              much);
}

// As one that is left behind in the kernel would.
TEST(core, work_that_goes_on_holds_no_pipe_of_ours) {
    int ends[2], gate[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]), gate_reader(gate[0]), gate_writer(gate[1]);
    auto child = fork_process({.close_others = false}, [&] {
                     dup2(writer.get(), STDOUT_FILENO);
                     dup2(writer.get(), STDERR_FILENO);
                     writer.reset();
                     auto work = Work::start({.what = "waiting", .streams = WorkStreams::kOurs},
                                             []() -> Result<std::string> {
                                                 pause();
                                                 return "";
                                             });
                     for (int stream : {STDOUT_FILENO, STDERR_FILENO}) close(stream);
                     char byte = 0;
                     return read(gate_reader.get(), &byte, 1) == 1 && !work->poll_result() ? 0 : 1;
                 }).value();
    writer.reset();
    auto text = read_to_end(reader.get(), "the pipe", 100, Deadline::after(kPlenty));
    EXPECT_TRUE(text) << "nobody has it any more";
    ASSERT_EQ(write(gate_writer.get(), "x", 1), 1);
    EXPECT_TRUE(child.wait()->success());
}

}  // namespace
}  // namespace belay::core
