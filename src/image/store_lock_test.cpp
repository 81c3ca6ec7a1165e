#include "image/store_lock.h"

#include <atomic>
#include <csignal>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using namespace std::chrono_literals;

constexpr LockMethod kMethods[] = {LockMethod::kFlock, LockMethod::kLease};

struct Place {
    core::TemporaryDirectory directory = std::move(*core::TemporaryDirectory::create());
    std::filesystem::path file = directory.path() / "lock";
    std::filesystem::path lease = directory.path() / "lock.lease";
};

TEST(image, lock_one_at_a_time) {
    for (LockMethod method : kMethods) {
        Place place;
        auto first = StoreLock::try_acquire(place.file, method);
        ASSERT_TRUE(first && *first);
        auto second = StoreLock::try_acquire(place.file, method);
        ASSERT_TRUE(second);
        EXPECT_FALSE(*second);
        first->reset();
        EXPECT_TRUE(std::filesystem::is_empty(place.directory.path()));  // nothing is left behind
        second = StoreLock::try_acquire(place.file, method);
        EXPECT_TRUE(second && *second);
    }
}

TEST(image, lock_lets_one_thread_in) {
    for (LockMethod method : kMethods) {
        Place place;
        std::atomic<int> inside = 0;
        std::atomic<int> failures = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 5; ++i) {
                    auto lock = StoreLock::acquire(place.file, core::system_clock(),
                                                   core::Deadline::after(1min), {}, method);
                    if (!lock || ++inside != 1) ++failures;
                    std::this_thread::yield();
                    --inside;
                }
            });
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(failures, 0);
    }
}

TEST(image, lock_waiting_ends) {
    for (LockMethod method : kMethods) {
        Place place;
        auto holder =
            StoreLock::acquire(place.file, core::system_clock(), core::Deadline::after(1s), {}, method);
        ASSERT_TRUE(holder);
        core::ManualClock clock(core::time_from_nanoseconds(0));
        int told = 0;
        auto waiter =
            StoreLock::acquire(place.file, clock, core::Deadline::after(20s, clock), [&] { ++told; }, method);
        ASSERT_FALSE(waiter);
        EXPECT_THAT(waiter.error().message(), ::testing::StartsWith("gave up after 20.0 s: "));
        EXPECT_THAT(waiter.error().message(), ::testing::HasSubstr(place.file.string()));
        EXPECT_EQ(clock.monotonic(), 20s);
        EXPECT_EQ(waiter.error().cause(), core::Cause::kTimedOut);
        EXPECT_EQ(told, 1);
        const passwd* user = getpwuid(geteuid());
        EXPECT_THAT(waiter.error().message(),
                    ::testing::HasSubstr(user != nullptr ? fmt::format(" of {}", user->pw_name)
                                                         : fmt::format(" of {}", geteuid())));
    }
}

TEST(image, lock_waiting_can_be_stopped) {
    Place place;
    auto holder = StoreLock::try_acquire(place.file);
    std::atomic<bool> stopped = false;
    auto waiter = StoreLock::acquire(
        place.file, core::system_clock(), core::Deadline::never(), [&] { stopped = true; },
        LockMethod::kFlock, {}, &stopped);
    EXPECT_FALSE(waiter);
}

// On NFS a file can only be locked by who may write to it.
TEST(image, lock_may_be_written_by_who_may_write_to_the_store) {
    for (auto [directory, file] : {std::pair(01777, 0666), std::pair(02775, 0664), std::pair(0700, 0600)}) {
        Place place;
        ASSERT_EQ(chmod(place.directory.path().c_str(), static_cast<mode_t>(directory)), 0);
        const mode_t before = umask(077);
        auto lock = StoreLock::try_acquire(place.file);
        umask(before);
        struct stat status{};
        ASSERT_EQ(stat(place.file.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, static_cast<mode_t>(file));
    }
}

TEST(image, lock_of_a_killed_process_is_free) {
    Place place;
    pid_t child = fork();
    if (child == 0) {
        auto lock = StoreLock::try_acquire(place.file);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(std::filesystem::exists(place.file));
    auto lock = StoreLock::try_acquire(place.file);
    EXPECT_TRUE(lock && *lock);
}

TEST(image, lease_is_kept_while_it_is_touched) {
    Place place;
    struct stat first{};
    struct stat later{};
    auto holder = StoreLock::acquire(place.file, core::system_clock(), core::Deadline::after(1s), {},
                                     LockMethod::kLease, {.touch = 1ms});
    ASSERT_TRUE(holder);
    ASSERT_EQ(stat(place.lease.c_str(), &first), 0);
    do {  // ends when it was touched
        std::this_thread::sleep_for(1ms);
        ASSERT_EQ(stat(place.lease.c_str(), &later), 0);
    } while (later.st_mtim.tv_sec == first.st_mtim.tv_sec && later.st_mtim.tv_nsec == first.st_mtim.tv_nsec);
}

TEST(image, lease_of_the_dead_is_taken_over) {
    Place place;
    ASSERT_TRUE(core::create_file(place.lease, "dead"));
    core::ManualClock clock(core::time_from_nanoseconds(0));
    auto lock =
        StoreLock::acquire(place.file, clock, core::Deadline::after(10min, clock), {}, LockMethod::kLease);
    ASSERT_TRUE(lock) << lock.error().render();
    EXPECT_GE(clock.monotonic(), 60s);
    EXPECT_LT(clock.monotonic(), 62s);
}

}  // namespace
}  // namespace belay::image
