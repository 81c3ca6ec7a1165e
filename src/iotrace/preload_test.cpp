// Real programs under the library: what it counts is what they do.
#include "core/process.h"
#include "iotrace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::iotrace {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

class iotrace_preload : public testing::Test {
  protected:
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    IoTraceReader trace = IoTraceReader::create(directory.path() / "trace").value();
    core::Environment more = {};  // variables of the program

    std::string at(const std::string& name) const { return (directory.path() / name).string(); }
    std::string known(const std::string& program) const {
        return std::string(BELAY_KNOWN_PROGRAMS) + "/" + program;
    }

    // A file of that many bytes, made by this process, which is not traced.
    std::string file(const std::string& name, size_t bytes) const {
        EXPECT_TRUE(core::replace_file(at(name), std::string(bytes, 'x')));
        return at(name);
    }

    core::Output run(std::vector<std::string> command) {
        core::Command traced{.argv = std::move(command)};
        const core::Environment variables = traced_environment(BELAY_IO, trace.path(), std::nullopt).value();
        for (const auto& [name, value] : variables) traced.environment_changes[name] = value;
        for (const auto& [name, value] : more) traced.environment_changes[name] = value;
        auto output = core::run(traced, {.timeout = std::chrono::minutes(5)});
        EXPECT_TRUE(output) << output.error().message();
        return output.value_or(core::Output{});
    }
    // Of the device of the temporary directory, after a program that must succeed and say nothing about it.
    DeviceTotals after(std::vector<std::string> command) {
        const core::Output output = run(std::move(command));
        EXPECT_TRUE(output.status.success()) << output.status.describe() << output.err;
        EXPECT_EQ(output.err, "");
        return here();
    }
    DeviceTotals after_known(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), known("iotrace_known_calls"));
        return after(std::move(arguments));
    }
    DeviceTotals here() {
        struct stat facts{};
        EXPECT_EQ(stat(directory.path().c_str(), &facts), 0);
        const DeviceNumber device{major(facts.st_dev), minor(facts.st_dev)};
        const IoTotals now = all();
        for (const DeviceTotals& totals : now.devices)
            if (totals.of == DeviceTotals::Of::kDevice && totals.device == device) return totals;
        return {};
    }
    // Without the time at which the file was made.
    IoTotals all() {
        IoTotals totals = trace.totals().value();
        totals.began = {};
        return totals;
    }
};

uint64_t random_reads(const DeviceTotals& totals) {
    return totals.random_read_calls();
}

TEST_F(iotrace_preload, reads_in_order) {
    const DeviceTotals totals = after_known({"reads", file("f", 100'000), "100", "1000"});
    EXPECT_EQ(totals[kOpens], 1U);
    EXPECT_EQ(totals[kCloses], 1U);
    EXPECT_EQ(totals[kReadBytes], 100'000U);
    EXPECT_EQ(totals.reads_in_order[size_bin(1000)], 100U);
    EXPECT_EQ(totals.read_calls(), 100U);
    EXPECT_EQ(totals.random_share(), 0);
    EXPECT_EQ(all().programs, 1U);
}

TEST_F(iotrace_preload, reads_elsewhere) {
    const DeviceTotals totals = after_known({"scattered", file("f", 101 * 1000), "100", "1000"});
    EXPECT_EQ(totals.reads_elsewhere[size_bin(1000)], 100U);
    EXPECT_EQ(totals.random_share(), 1);
}

TEST_F(iotrace_preload, writes_and_syncs) {
    const DeviceTotals totals = after_known({"writes", at("f"), "50", "100"});
    EXPECT_EQ(totals[kWrittenBytes], 5000U);
    EXPECT_EQ(totals.writes[size_bin(100)], 50U);
    EXPECT_EQ(totals[kSyncs], 2U);
    EXPECT_GT(totals[kSyncNanoseconds], 0U);  // each is timed
}

TEST_F(iotrace_preload, each_call_is_counted_once) {
    ASSERT_TRUE(core::make_directories(at("d")));
    const DeviceTotals totals = after_known({"every-call", at("d")});
    EXPECT_EQ(totals[kOpens], 3U);
    EXPECT_EQ(totals[kOpensFailed], 0U);
    EXPECT_EQ(totals[kDirectoryOpens], 1U);
    EXPECT_EQ(totals[kDirectoryEntries], 4U);
    EXPECT_EQ(totals[kCloses], 4U);
    EXPECT_EQ(totals[kStats], 7U);
    EXPECT_EQ(totals[kStatsFailed], 0U);
    EXPECT_EQ(totals[kChanges], 5U);
    EXPECT_EQ(totals[kSyncs], 2U);
    EXPECT_EQ(totals[kMaps], 1U);
    EXPECT_EQ(totals[kMappedBytes], 4096U);
    EXPECT_EQ(totals.read_calls(), 5U);
    EXPECT_EQ(random_reads(totals), 2U);  // the last two
    EXPECT_EQ(totals[kReadBytes], 16U + 8 + 8 + 8 + 48);
    EXPECT_EQ(totals.write_calls(), 5U);
    EXPECT_EQ(totals[kWrittenBytes], 16U + 16 + 8 + 8 + 48);
}

TEST_F(iotrace_preload, small_files_are_seen_as_such) {
    ASSERT_TRUE(core::make_directories(at("d")));
    for (int i = 0; i < 64; ++i) file("d/" + std::to_string(i), 3000);
    const DeviceTotals totals = after_known({"small-files", at("d"), "128", "4096"});
    EXPECT_EQ(totals[kStats], 128U);
    EXPECT_EQ(totals[kOpens], 128U);
    EXPECT_EQ(totals.reads_in_order[size_bin(3000)], 128U);
    EXPECT_EQ(totals.reads_in_order[0], 128U);  // the ends of the files
    EXPECT_EQ(totals.metadata_calls(), 3U * 128);
}

// libc reads blocks of st_blksize (4096 on common file systems) for requests that are smaller.
TEST_F(iotrace_preload, a_stream_is_read_by_its_buffer) {
    const DeviceTotals totals = after_known({"stream-reads", file("f", 200'000), "100", "1000"});
    EXPECT_EQ(totals[kOpens], 1U);
    EXPECT_EQ(totals[kCloses], 1U);
    EXPECT_THAT(totals[kReadBytes], AllOf(Ge(100'000U), Le(200'000U)));
    EXPECT_LT(totals.read_calls(), 100U);
    EXPECT_EQ(totals.random_share(), 0);
}

TEST_F(iotrace_preload, a_stream_that_seeks_reads_elsewhere) {
    const DeviceTotals totals = after_known({"stream-seeks", file("f", 1'060'000), "10", "50000"});
    EXPECT_THAT(totals[kReadBytes], AllOf(Ge(500'000U), Le(600'000U)));
    EXPECT_EQ(totals.random_read_calls(), 10U);
}

TEST_F(iotrace_preload, a_stream_is_written_whole) {
    EXPECT_EQ(after_known({"stream-writes", at("f"), "100", "1000"})[kWrittenBytes], 100'001U);
}

TEST_F(iotrace_preload, names_that_are_not_there_count_for_the_device_of_the_directory) {
    const DeviceTotals totals = after_known({"missing", at("no/such/directory/file"), "100"});
    EXPECT_EQ(totals[kOpensFailed], 100U);
    EXPECT_EQ(totals[kStats], 200U);
    EXPECT_EQ(totals[kStatsFailed], 200U);
}

TEST_F(iotrace_preload, a_link_to_another_device_counts_there_once_the_file_is_used) {
    core::TemporaryDirectory other = [] {
        const std::string before = core::environment_variable("TMPDIR").value_or("");
        setenv("TMPDIR", "/dev/shm", 1);
        auto made = core::TemporaryDirectory::create();
        before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
        return std::move(*made);
    }();
    struct stat there{}, facts{};
    ASSERT_EQ(stat(other.path().c_str(), &there), 0);
    ASSERT_EQ(stat(directory.path().c_str(), &facts), 0);
    if (there.st_dev == facts.st_dev) GTEST_SKIP() << "/dev/shm is where temporary files are";
    ASSERT_TRUE(core::replace_file(other.path() / "f", std::string(100'000, 'x')));
    std::filesystem::create_symlink(other.path() / "f", at("link"));
    const DeviceTotals totals = after_known({"reads", at("link"), "100", "1000"});
    EXPECT_EQ(totals[kOpens], 1U);
    EXPECT_EQ(totals.read_calls(), 3U);  // until the kernel is asked
}

TEST_F(iotrace_preload, children_are_counted_once_each) {
    const DeviceTotals totals = after_known({"in-children", file("f", 100'000), "100", "1000"});
    EXPECT_EQ(totals.read_calls(), 400U);
    EXPECT_EQ(totals[kReadBytes], 400'000U);
    EXPECT_EQ(all().programs, 1U);
    EXPECT_EQ(all().threads, 4U);
}

TEST_F(iotrace_preload, goes_on_after_exec) {
    const DeviceTotals totals = after_known({"then-exec", file("f", 100'000), "100", "1000"});
    EXPECT_EQ(totals.read_calls(), 200U);
    EXPECT_EQ(all().programs, 2U);
}

TEST_F(iotrace_preload, a_vfork_leaves_the_parent_as_it_was) {
    const DeviceTotals totals = after_known({"in-vfork", file("f", 100'000), "100", "1000"});
    EXPECT_EQ(totals.read_calls(), 102U);
    EXPECT_EQ(totals.random_share(), 0);
}

TEST_F(iotrace_preload, threads_that_end_leave_their_counts) {
    const DeviceTotals totals = after_known({"in-threads", file("f", 100'000), "100", "1000"});
    EXPECT_EQ(totals.read_calls(), 100U * 100);
    EXPECT_EQ(totals[kOpens], 100U);
}

TEST_F(iotrace_preload, no_count_is_lost_to_a_signal_handler) {
    const std::string path = file("f", 1000);
    const core::Output output = run({known("iotrace_known_calls"), "in-handlers", path, "100000", "1000"});
    ASSERT_TRUE(output.status.success());
    EXPECT_EQ(here().read_calls(), 100'000U + std::stoull(output.out));
}

TEST_F(iotrace_preload, a_thread_can_be_cancelled_in_a_call) {
    EXPECT_EQ(after_known({"cancelled", file("f", 1000), "1", "1000"}).read_calls(), 1U);
}

TEST_F(iotrace_preload, holds_no_descriptor) {
    const DeviceTotals totals = after_known({"close-all", file("f", 100'000), "10", "1000"});
    EXPECT_EQ(totals.read_calls(), 11U);
}

TEST_F(iotrace_preload, what_was_counted_survives_a_kill) {
    const std::string path = file("f", 100'000);
    EXPECT_EQ(run({known("iotrace_known_calls"), "killed", path, "100", "1000"}).status.signal, SIGKILL);
    EXPECT_EQ(here().read_calls(), 100U);
}

TEST_F(iotrace_preload, errno_and_failures_are_the_calls_own) {
    const DeviceTotals totals = after_known({"keeps-errno", file("f", 1000)});
    EXPECT_EQ(totals[kOpensFailed],
              1U);  // of a directory that is a file; names that cannot be read have no device
}

TEST_F(iotrace_preload, calls_before_its_own_beginning_are_counted) {
    more["KNOWN_EARLY_FILE"] = file("f", 1000);
    const DeviceTotals totals = after({known("iotrace_known_early_main")});
    EXPECT_EQ(totals.read_calls(), 1U);
    EXPECT_EQ(totals[kReadBytes], 10U);
}

TEST_F(iotrace_preload, a_static_program_runs_and_is_not_seen) {
    after({known("iotrace_known_calls_static"), "reads", file("f", 1000), "1", "1000"});
    EXPECT_EQ(all(), IoTotals());
}

TEST_F(iotrace_preload, without_a_good_file_programs_run_and_are_not_seen) {
    const std::string path = file("f", 1000);
    for (const std::string& named :
         {std::string(), at("nothing"), path, directory.path().string(), std::string("/dev/full")}) {
        more[kTraceVariable] = named;
        after_known({"reads", path, "1", "1000"});
    }
    // A file with holes could end the program where the disk is full.
    std::string bytes = encode_header({});
    ASSERT_TRUE(core::replace_file(at("holes"), bytes));
    std::filesystem::resize_file(at("holes"), kFileBytes);
    more[kTraceVariable] = at("holes");
    after_known({"reads", path, "1", "1000"});
    EXPECT_EQ(all(), IoTotals());
    EXPECT_EQ(IoTraceReader::open(at("holes")).value().totals().value(), IoTotals());
}

TEST_F(iotrace_preload, cat_reads_blocks_and_the_end) {
    const DeviceTotals totals = after({"cat", file("f", 200'000)});
    EXPECT_EQ(totals[kOpens], 1U);
    EXPECT_EQ(totals[kReadBytes], 200'000U);
    EXPECT_EQ(totals.reads_in_order[0], 1U);
}

TEST_F(iotrace_preload, dd_reads_and_writes_what_it_is_told) {
    const std::string from = file("f", 64'000);
    const DeviceTotals totals = after({"dd", "if=" + from, "of=" + at("g"), "bs=1000", "status=none"});
    EXPECT_EQ(totals.reads_in_order[size_bin(1000)], 64U);
    EXPECT_EQ(totals.writes[size_bin(1000)], 64U);
    EXPECT_EQ(totals[kWrittenBytes], 64'000U);
}

TEST_F(iotrace_preload, cp_copies_all_bytes) {
    const DeviceTotals totals = after({"cp", file("f", 1'000'000), at("g")});
    EXPECT_EQ(core::read_file(at("g")).value().size(), 1'000'000U);
    EXPECT_THAT(totals[kWrittenBytes],
                testing::AnyOf(1'000'000U, 0U));  // 0: the file system shares the blocks (FICLONE)
}

TEST_F(iotrace_preload, bash_with_its_children) {
    const std::string path = file("f", 100'000);
    const DeviceTotals totals = after(
        {"bash", "-c",
         "for i in 1 2 3; do (cat < " + path + " >/dev/null; cat " + path + " | cat >/dev/null); done"});
    EXPECT_EQ(totals[kReadBytes], 6U * 100'000);
    EXPECT_EQ(all().programs, 1U + 3 * 3);
}

TEST_F(iotrace_preload, python_reads_seeks_and_starts_programs) {
    if (!core::find_program("python3")) GTEST_SKIP() << "no python3";
    const std::string script =
        "import os, subprocess, sys\n"
        "path = sys.argv[1]\n"
        "with open(path, 'rb', buffering=0) as f:\n"
        "    for i in range(50, 0, -1):\n"
        "        f.seek(i * 1000)\n"
        "        assert len(f.read(100)) == 100\n"
        "subprocess.run(['cat', path], stdout=subprocess.DEVNULL, check=True)\n"
        "if os.fork() == 0:\n"
        "    os.pread(os.open(path, os.O_RDONLY), 10, 0)\n"
        "    os._exit(0)\n"
        "os.wait()\n";
    const DeviceTotals totals = after({"python3", "-I", "-S", "-c", script, file("f", 100'000)});
    EXPECT_THAT(totals.reads_elsewhere[size_bin(100)], AllOf(Ge(50U), Le(60U)));
    EXPECT_EQ(totals.reads_in_order[size_bin(10)] >= 1, true);
    EXPECT_GE(totals[kReadBytes], 100'000U + 50 * 100 + 10);
    EXPECT_GE(all().programs, 2U);
}

TEST_F(iotrace_preload, a_compiler_and_git_work_as_without_it) {
    ASSERT_TRUE(
        core::replace_file(at("x.c"), "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n"));
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"gcc", "-c", at("x.c"), "-o", at("x.o")},
          {"git", "init", "-q", at("r")},
          {"git", "-C", at("r"), "status", "--short"}}) {
        if (!core::find_program(command[0])) GTEST_SKIP() << "no " << command[0];
        after(command);
    }
    EXPECT_TRUE(std::filesystem::exists(at("x.o")));
    EXPECT_GT(here()[kWrittenBytes], 0U);
}

}  // namespace
}  // namespace belay::iotrace
