#include "iotrace/reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::iotrace {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class iotrace_reader : public testing::Test {
  protected:
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    std::filesystem::path path = directory.path() / "trace";
};

TEST_F(iotrace_reader, a_new_file_is_allocated_whole_and_private) {
    auto trace = IoTraceReader::create(path);
    ASSERT_TRUE(trace);
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_size, static_cast<off_t>(kFileBytes));
    EXPECT_GE(static_cast<size_t>(facts.st_blocks) * 512, kFileBytes);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    IoTotals totals = trace->totals().value();
    EXPECT_GT(totals.began, core::Time());
    totals.began = {};
    EXPECT_EQ(totals, IoTotals());
    EXPECT_EQ(IoTraceReader::create(path).error().errno_value(), EEXIST);
}

TEST_F(iotrace_reader, a_file_that_was_made_is_opened) {
    IoTotals totals{.programs = 1, .threads = 1, .devices = {{.device = {8, 3}, .counters = {12}}}};
    totals.devices.push_back({.of = DeviceTotals::Of::kNone, .counters = {0, 5}});
    ASSERT_TRUE(core::replace_file(path, encode(totals)));
    auto trace = IoTraceReader::open(path);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->totals().value(), totals);
}

TEST_F(iotrace_reader, other_files_are_not_opened) {
    EXPECT_EQ(IoTraceReader::open(path).error().cause(), core::Cause::kNotFound);
    ASSERT_TRUE(core::replace_file(path, "something else"));
    EXPECT_THAT(IoTraceReader::open(path).error().message(),
                HasSubstr("not an I/O trace: it ends at byte 14"));
    EXPECT_THAT(IoTraceReader::open(directory.path()).error().message(), HasSubstr("is not a regular file"));
    ASSERT_EQ(mkfifo((directory.path() / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(IoTraceReader::open(directory.path() / "pipe").error().message(),
                HasSubstr("is not a regular file"));
}

TEST_F(iotrace_reader, a_file_that_a_process_damages_is_an_error) {
    auto trace = IoTraceReader::create(path);
    ASSERT_TRUE(trace);
    ASSERT_EQ(truncate(path.c_str(), 5000), 0);
    EXPECT_EQ(trace->totals().error().kind(), core::ErrorKind::kBadInput);
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    EXPECT_THAT(trace->totals().error().message(), HasSubstr("it ends at byte 0"));
}

TEST_F(iotrace_reader, the_library_stands_behind_what_is_preloaded_already) {
    EXPECT_THAT(traced_environment("/lib/libbelay_io.so", "/dev/shm/t", std::nullopt).value(),
                UnorderedElementsAre(Pair("LD_PRELOAD", "/lib/libbelay_io.so"),
                                     Pair("BELAY_IO_TRACE", "/dev/shm/t")));
    EXPECT_THAT(traced_environment("/lib/libbelay_io.so", "/dev/shm/t", "libasan.so").value(),
                UnorderedElementsAre(Pair("LD_PRELOAD", "libasan.so:/lib/libbelay_io.so"),
                                     Pair("BELAY_IO_TRACE", "/dev/shm/t")));
    EXPECT_EQ(traced_environment("/a b/libbelay_io.so", "/t", std::nullopt).error().kind(),
              core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::iotrace
