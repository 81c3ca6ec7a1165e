// For the tests of this folder: hierarchies of cgroups in a temporary directory, as far as files can stand
// for them.
//
// testdata/unified holds the files of a cgroup as Linux 6.1 prints them, testdata/legacy those of the
// hierarchies of version 1 as Linux 4.18 does.
#pragma once

#include "observe/cgroup/cgroup.h"
#include "observe/collect/testing.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::cgroup::testing {

namespace fs = std::filesystem;

using collect::testing::at_second;

inline constexpr std::string_view kScope = "system.slice/slurmstepd.scope";

class FakeCgroups {
  public:
    // `path` is below /sys/fs/cgroup.
    void write(const fs::path& path, std::string_view text) const {
        root_.write("sys/fs/cgroup" / path, text);
    }
    void remove(const fs::path& path) const { root_.remove("sys/fs/cgroup" / path); }
    void process(int64_t pid, std::string_view file, std::string_view text) const {
        root_.write(fmt::format("proc/{}/{}", pid, file), text);
    }

    void mount_unified(const fs::path& at = "") const { write(at / "cgroup.controllers", "cpu memory\n"); }
    // A cgroup of version 2 with all its files.
    void add_unified(const fs::path& path) const { fill(path, "unified"); }
    // One of version 1, as Slurm makes them with all its plugins of cgroups.
    void add_legacy(const fs::path& path) const {
        for (const char* controller : {"cpu", "cpuacct", "memory", "blkio", "cpuset"}) {
            fill(controller / path, fs::path("legacy") / controller);
            write(controller / path / kProcesses, "");
        }
    }
    // What is there goes, and another directory has its name.
    void replace_unified(const fs::path& path) const {
        const fs::path at = root() / path, beside = fs::path(at) += ".new";
        fill(fs::path(path) += ".new", "unified");  // the old inode is not free yet
        fs::remove_all(at);
        fs::rename(beside, at);
    }

    fs::path root() const { return root_.sys() / "fs/cgroup"; }
    fs::path proc() const { return root_.proc(); }
    // Everything is looked at every time: not every file system counts the directories in one.
    LiveOptions live() const { return {.root = root(), .slow_every = 1}; }
    CgroupOptions options() const { return {.live = live(), .proc = proc()}; }

  private:
    void fill(const fs::path& path, const fs::path& capture) const {
        for (const auto& entry : fs::directory_iterator(fs::path(BELAY_TESTDATA) / capture))
            write(path / entry.path().filename(), *core::read_file(entry.path()));
    }

    collect::testing::FakeRoot root_;
};

// What the parser of a file takes of a text.
inline Readings taken(Version version, std::string_view name, std::optional<std::string_view> text) {
    Readings readings;
    const auto files = files_of(version);
    const auto file = std::ranges::find(files, name, &File::name);
    EXPECT_TRUE(file != files.end()) << name;
    if (file != files.end()) file->take(text, readings);
    return readings;
}

inline constexpr std::optional<int64_t> Readings::* kCountReadings[] = {&Readings::cpu_periods,
                                                                        &Readings::cpu_throttled_periods,
                                                                        &Readings::memory_bytes,
                                                                        &Readings::memory_peak_bytes,
                                                                        &Readings::memory_anonymous_bytes,
                                                                        &Readings::memory_file_bytes,
                                                                        &Readings::memory_shared_bytes,
                                                                        &Readings::memory_limit_bytes,
                                                                        &Readings::memory_high_events,
                                                                        &Readings::memory_max_events,
                                                                        &Readings::memory_oom_events,
                                                                        &Readings::oom_kills,
                                                                        &Readings::io_read_bytes,
                                                                        &Readings::io_written_bytes,
                                                                        &Readings::io_reads,
                                                                        &Readings::io_writes,
                                                                        &Readings::processes,
                                                                        &Readings::cpus};
inline constexpr std::optional<double> Readings::* kSecondReadings[] = {
    &Readings::cpu_seconds,           &Readings::cpu_user_seconds,     &Readings::cpu_system_seconds,
    &Readings::cpu_throttled_seconds, &Readings::pressure_cpu_some,    &Readings::pressure_cpu_full,
    &Readings::pressure_memory_some,  &Readings::pressure_memory_full, &Readings::pressure_io_some,
    &Readings::pressure_io_full};

// How many values there are.
inline size_t values_in(const Readings& readings) {
    size_t values = readings.cpuset ? 1 : 0;
    for (const auto reading : kCountReadings) values += (readings.*reading).has_value() ? 1 : 0;
    for (const auto reading : kSecondReadings) values += (readings.*reading).has_value() ? 1 : 0;
    return values;
}

// Property: wherever a text is cut, a value is what the whole text says or nothing. A sum cannot know that it
// was cut between two devices.
inline void expect_cuts_never_lie(Version version, const File& file, std::string_view text) {
    const Readings whole = taken(version, file.name, text);
    EXPECT_GT(values_in(whole), 0U) << file.name;
    for (size_t size = 1; size < text.size(); ++size) {
        if (text[size - 1] == '\n' || (text[size - 1] == ' ' && file.name == "io.stat")) continue;
        const Readings cut = taken(version, file.name, text.substr(0, size));
        for (const auto reading : kCountReadings)
            EXPECT_TRUE(!(cut.*reading) || cut.*reading == whole.*reading) << file.name << size;
        for (const auto reading : kSecondReadings)
            EXPECT_TRUE(!(cut.*reading) || cut.*reading == whole.*reading) << file.name << size;
    }
}

// Texts that are none of these files'. No value may come of them.
inline constexpr std::string_view kHostileTexts[] = {
    "\n",
    "max\n",
    "-1\n",
    "18446744073709551615\n",
    "0x10\n",
    "1 2\n",
    "nan\n",
    "usage_usec\n",
    "usage_usec -1\n",
    "8:0 rbytes=x wbytes=-1 rios=99999999999999999999 wios=\n",
    "8:0 Read\n8:0 Write x\n",
    "some total=-5\n",
    "full total=18446744073709551616\n",
    "anon\nfile 1 2\n",
    "\xff\xfe\n",
    "3-1\n"};

}  // namespace belay::observe::cgroup::testing
