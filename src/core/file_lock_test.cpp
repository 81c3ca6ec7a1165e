#include "core/file_lock.h"

#include "core/testing/sandbox.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

constexpr LockMethod kLockMethods[] = {LockMethod::kFlock, LockMethod::kLease};

// A directory with a file that is locked, opened as often as somebody wants it.
struct LockCase {
    TemporaryDirectory place = TemporaryDirectory::create().value();
    Directory directory = Directory::open(place.path()).value();

    Descriptor file() const { return directory.open_file("file", O_RDWR | O_CREAT).value(); }
    bool has_lease() const { return std::filesystem::exists(place.path() / "file.lease"); }
};

TEST(core, file_lock_is_held_by_one_at_a_time) {
    for (const LockMethod method : kLockMethods) {
        LockCase data;
        Descriptor first = data.file();
        const Descriptor second = data.file();
        auto held = FileLock::try_acquire(first.get(), data.directory, "file.lease", method).value();
        ASSERT_TRUE(held);
        EXPECT_EQ(held->method(), method);
        EXPECT_EQ(data.has_lease(), method == LockMethod::kLease);
        EXPECT_FALSE(FileLock::try_acquire(second.get(), data.directory, "file.lease", method).value());
        held.reset();
        first.reset();
        EXPECT_FALSE(data.has_lease());
        EXPECT_TRUE(FileLock::try_acquire(second.get(), data.directory, "file.lease", method).value());
    }
}

TEST(core, file_lock_where_there_is_no_flock_is_a_lease) {
    for (const int failure : {ENOSYS, EOPNOTSUPP, ENOLCK})
        expect_where_call_fails(SYS_flock, failure, [] {
            LockCase data;
            const Descriptor file = data.file();
            auto held = FileLock::try_acquire(file.get(), data.directory, "file.lease").value();
            ASSERT_TRUE(held);
            EXPECT_TRUE(data.has_lease());
            EXPECT_FALSE(FileLock::try_acquire(file.get(), data.directory, "file.lease").value());
        });
}

TEST(core, file_lock_of_a_directory) {
    for (const LockMethod method : kLockMethods) {
        LockCase data;
        const Directory again = Directory::open(data.place.path()).value();
        const auto held =
            FileLock::try_acquire(data.directory.fd(), data.directory, "file.lease", method).value();
        ASSERT_TRUE(held);
        EXPECT_FALSE(FileLock::try_acquire(again.fd(), again, "file.lease", method).value());
    }
}

TEST(core, file_lock_whose_holder_lives_is_not_waited_for_beyond_the_deadline) {
    LockCase data;
    const Descriptor file = data.file();
    const LeaseTimes times{.touch = 1ms, .stale = 24h};
    const auto held = FileLock::try_lease(data.directory, "file.lease", times).value();
    ASSERT_TRUE(held);
    const auto refused = FileLock::acquire(file.get(), data.directory, "file.lease", Deadline::after({}),
                                           LockMethod::kLease, times);
    ASSERT_TRUE(refused);
    EXPECT_FALSE(*refused);
}

TEST(core, file_lock_of_the_dead_is_taken_over_whatever_the_deadline) {
    LockCase data;
    const Descriptor file = data.file();
    std::ofstream(data.place.path() / "file.lease") << "dead";
    const auto held = FileLock::acquire(file.get(), data.directory, "file.lease", Deadline::after({}),
                                        LockMethod::kLease, {.touch = 1s, .stale = 20ms});
    ASSERT_TRUE(held);
    EXPECT_TRUE(*held);
}

// As one that stood still for longer than a lease lasts.
TEST(core, file_lock_that_was_taken_over_is_not_the_former_holders_to_remove) {
    LockCase data;
    auto former = FileLock::try_lease(data.directory, "file.lease").value();
    std::filesystem::remove(data.place.path() / "file.lease");
    const auto held = FileLock::try_lease(data.directory, "file.lease").value();
    ASSERT_TRUE(held);
    former.reset();
    EXPECT_TRUE(data.has_lease());
}

}  // namespace
}  // namespace belay::core
