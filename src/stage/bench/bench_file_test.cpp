#include "stage/bench/bench_file.h"

#include "core/file.h"
#include "stage/bench/workload.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::HasSubstr;

class FilePlace {
  public:
    const std::filesystem::path& path() const { return directory_.path(); }
    core::Directory directory() const { return core::Directory::open(path()).value(); }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST(stage_bench_file, gives_back_what_was_written) {
    const FilePlace place;
    for (const DirectMode mode : {DirectMode::kAuto, DirectMode::kNever}) {
        const AlignedBuffer buffer(10'000);
        const std::string written(buffer.data(), 10'000);
        const auto file = BenchFile::open(place.directory(), "f", O_RDWR | O_CREAT | O_TRUNC, mode).value();
        ASSERT_TRUE(file.write(0, buffer, 10'000));
        ASSERT_TRUE(file.truncate(10'000));
        EXPECT_EQ(core::read_file(place.path() / "f").value(), written);
        const AlignedBuffer small(8192);
        EXPECT_EQ(file.read(5000, 100, small).value(), 100u);
        EXPECT_EQ(file.read(0, 10'000, small).value(), 10'000u);
        EXPECT_EQ(file.read(9000, 5000, small).value(), 1000u);
        EXPECT_EQ(file.read(20'000, 10, small).value(), 0u);
        EXPECT_TRUE(file.read_all(9000, 1000, small));
        EXPECT_THAT(file.read_all(9000, 1001, small).error().message(), HasSubstr("ends at byte 10000"));
        const double resident = file.drop_cache().value().value();
        EXPECT_GE(resident, 0);
        EXPECT_LE(resident, 1);
    }
}

// A part of it at a time: all of a file of terabytes would not fit into the memory that this takes.
TEST(stage_bench_file, of_a_large_file_a_part_at_a_time_is_looked_at) {
    const FilePlace place;
    const auto file =
        BenchFile::open(place.directory(), "large", O_RDWR | O_CREAT, DirectMode::kNever).value();
    ASSERT_TRUE(file.truncate((uint64_t{2} << 30) + 5));
    const AlignedBuffer buffer(4096);
    ASSERT_TRUE(file.write(uint64_t{2} << 30, buffer, 5));
    const pid_t child = fork();
    if (child == 0) {
        uint64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t most = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{3} << 29);
        const rlimit limit{most, most};
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(9);
        const auto resident = file.drop_cache();
        _exit(resident && *resident && **resident >= 0 && **resident < 0.01 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(stage_bench_file, what_cannot_be_mapped_is_not_known) {
    const std::filesystem::path kernel = "/sys/kernel";
    if (!std::filesystem::exists(kernel / "uevent_seqnum")) GTEST_SKIP() << "there is no /sys";
    const auto directory = core::Directory::open(kernel).value();
    const auto file = BenchFile::open(directory, "uevent_seqnum", O_RDONLY, DirectMode::kNever).value();
    const auto resident = file.drop_cache();
    ASSERT_TRUE(resident) << resident.error().message();
    EXPECT_FALSE(*resident);
}

// Its cache is not read through, so nobody need know how large it is.
TEST(stage_bench_file, of_a_file_that_is_read_past_the_cache_nothing_is_dropped) {
    const FilePlace place;
    const core::Directory directory = place.directory();
    const BenchOptions options;
    BenchReport report;
    BenchRun run{.directory = directory, .options = options, .report = report};
    ASSERT_TRUE(write_bench_file(run, "f", 1 << 20));
    const auto cached = BenchFile::open(directory, "f", O_RDONLY, DirectMode::kNever).value();
    const AlignedBuffer buffer(1 << 20);
    CacheDrop drop;
    const auto direct = drop.open(run, "f").value();
    if (!direct.is_direct()) GTEST_SKIP() << "this file system has no O_DIRECT";
    ASSERT_TRUE(cached.read_all(0, 1 << 20, buffer));
    ASSERT_TRUE(drop.open(run, "f"));
    void* shown = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, cached.fd(), 0);
    ASSERT_NE(shown, MAP_FAILED);
    std::vector<unsigned char> pages(256);
    ASSERT_EQ(mincore(shown, 1 << 20, pages.data()), 0);
    munmap(shown, 1 << 20);
    EXPECT_EQ(pages[0] & 1U, 1U);
    EXPECT_EQ(drop.describe(), "bypassed (O_DIRECT)");
}

TEST(stage_bench_file, no_two_blocks_are_equal) {
    const AlignedBuffer buffer(8192);
    buffer.vary(1);
    const std::string first(buffer.data(), buffer.size());
    buffer.vary(2);
    EXPECT_NE(first, std::string(buffer.data(), buffer.size()));
    EXPECT_NE(first.substr(0, 4096), first.substr(4096));
}

}  // namespace
}  // namespace belay::stage
