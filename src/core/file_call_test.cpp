#include "core/file_call.h"

#include "core/file.h"
#include "core/fork.h"

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

std::string waits_for(const Process& process) {
    auto call = file_call_of(process.pid());
    return call ? call->what : "nothing";
}

// A process that runs `body`, once it sleeps in the system call `number`.
Process sleeping_in(long number, const std::function<void()>& body) {
    Process process = fork_process({.close_others = false, .death_signal = SIGKILL}, [&] {
                          body();
                          return 0;
                      }).value();
    for (int i = 0; i < 60'000; ++i) {
        long now = -1;
        std::ifstream file(fmt::format("/proc/{}/syscall", process.pid()));
        if (file >> now && now == number) return process;  // "running" is not a number
        std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "it never slept in call " << number;
    return process;
}

TEST(core, the_file_that_another_process_waits_for_is_known) {
    auto directory = TemporaryDirectory::create().value();
    const std::string fifo = directory.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    auto absolute = sleeping_in(SYS_openat, [&] { ::open(fifo.c_str(), O_RDONLY); });
    EXPECT_EQ(waits_for(absolute), "open " + fifo);
    auto relative = sleeping_in(SYS_openat, [&] {
        if (chdir(directory.path().c_str()) == 0) ::open("fifo", O_RDONLY);
    });
    EXPECT_EQ(waits_for(relative), "open " + fifo);
    auto below =
        sleeping_in(SYS_openat, [&] { openat(::open(directory.path().c_str(), O_PATH), "fifo", O_RDONLY); });
    EXPECT_EQ(waits_for(below), "open " + fifo);
    auto by_descriptor = sleeping_in(SYS_read, [&] {
        char byte = 0;
        [[maybe_unused]] ssize_t size = ::read(::open(fifo.c_str(), O_RDWR), &byte, 1);
    });
    EXPECT_EQ(waits_for(by_descriptor), "read " + fifo);
}

TEST(core, who_waits_for_something_else_waits_for_no_file) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    auto pipe_reader = sleeping_in(SYS_read, [&] {
        char byte = 0;
        [[maybe_unused]] ssize_t size = ::read(ends[0], &byte, 1);
    });
    EXPECT_EQ(waits_for(pipe_reader), "nothing");
    auto directory = TemporaryDirectory::create().value();
    const std::string file = directory.path() / "lock";
    Descriptor held = open_file(file, O_RDWR | O_CREAT, 0600).value();
    ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
    auto lock_waiter = sleeping_in(SYS_flock, [&] { flock(::open(file.c_str(), O_RDWR), LOCK_EX); });
    EXPECT_EQ(waits_for(lock_waiter), "nothing") << "somebody has the lock, and that may take long";
    EXPECT_FALSE(file_call_of(getpid())) << "it runs";
    EXPECT_FALSE(file_call_of(999'999'999)) << "it is not there";
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace belay::core
