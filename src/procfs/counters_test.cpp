// Files of named counters: stat, meminfo, vmstat, pressure, loadavg, and a process's schedstat and io.
#include "procfs/keyed.h"
#include "procfs/loadavg.h"
#include "procfs/meminfo.h"
#include "procfs/pid_status.h"
#include "procfs/pressure.h"
#include "procfs/scan.h"
#include "procfs/schedstat.h"
#include "procfs/stat.h"
#include "procfs/statm.h"
#include "procfs/uptime.h"

#include <initializer_list>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

using testing::ElementsAre;
using Count = std::optional<int64_t>;

// Property: wherever the text is cut, a field is either what the whole text says or nothing.
template <typename Value>
void expect_cuts_lose_but_never_lie(std::string_view text, Value (*parse)(std::string_view),
                                    std::initializer_list<Count Value::*> fields) {
    Value whole = parse(text);
    for (auto field : fields) EXPECT_TRUE((whole.*field).has_value());
    for (size_t size = 0; size < text.size(); ++size) {
        Value cut = parse(text.substr(0, size));
        for (auto field : fields)
            EXPECT_TRUE(!(cut.*field) || cut.*field == whole.*field) << text.substr(0, size);
    }
}

constexpr std::string_view kStat =
    "cpu  7160 12 3587 211360 1247 5 88 10 900 0\n"
    "cpu0 2962 6 1426 107304 57 2 15 3 450 0\n"
    "cpu1 4197 6 2161 104056 1189 3 73 7 450 0\n"
    "intr 492490 0 0 1 2\n"
    "ctxt 1249622\nbtime 1767600000\nprocesses 13664\nprocs_running 3\nprocs_blocked 1\n"
    "softirq 226461 0 19908\n";

TEST(procfs, stat_is_read) {
    Stat stat = parse_stat(kStat);
    EXPECT_EQ(stat.user, 7160);  // with the guests' 900 in it
    EXPECT_EQ(stat.nice, 12);
    EXPECT_EQ(stat.system, 3587);
    EXPECT_EQ(stat.idle, 211360);
    EXPECT_EQ(stat.iowait, 1247);
    EXPECT_EQ(stat.irq, 5);
    EXPECT_EQ(stat.softirq, 88);
    EXPECT_EQ(stat.steal, 10);
    EXPECT_EQ(stat.cpus_online, 2);
    EXPECT_EQ(stat.interrupts, 492490);
}

TEST(procfs, stat_without_late_fields_leaves_them_out) {
    Stat stat = parse_stat("cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 5\n");  // Linux 2.4
    EXPECT_EQ(stat.idle, 4);
    EXPECT_FALSE(stat.iowait.has_value());
    EXPECT_FALSE(stat.steal.has_value());
    EXPECT_FALSE(stat.interrupts.has_value());
    EXPECT_EQ(stat.cpus_online, 1);
}

TEST(procfs, numbers_beyond_63_bits_are_nothing) {
    Stat stat =
        parse_stat("cpu  18446744073709551615 9223372036854775807 -1 0x5\nintr 9223372036854775808 1\n");
    EXPECT_FALSE(stat.user.has_value());
    EXPECT_EQ(stat.nice, INT64_MAX);
    EXPECT_FALSE(stat.system.has_value());
    EXPECT_FALSE(stat.idle.has_value());
    EXPECT_FALSE(stat.interrupts.has_value());
    EXPECT_FALSE(parse_meminfo("MemTotal: 9223372036854775807 kB\n").total.has_value());
    EXPECT_FALSE(scaled(INT64_MAX, 2).has_value());
    EXPECT_FALSE(count("-0").has_value());
}

TEST(procfs, stat_cut_anywhere_never_lies) {
    expect_cuts_lose_but_never_lie<Stat>(
        kStat, parse_stat,
        {&Stat::user, &Stat::nice, &Stat::system, &Stat::idle, &Stat::iowait, &Stat::irq, &Stat::softirq,
         &Stat::steal, &Stat::cpus_online, &Stat::interrupts});
}

constexpr std::string_view kMeminfo =
    "MemTotal:       24684112 kB\nMemFree:        23435424 kB\nMemAvailable:   24264092 kB\n"
    "Buffers:          217572 kB\nCached:           753832 kB\nSwapCached:            9 kB\n"
    "Active(anon):       1576 kB\nSwapTotal:          2048 kB\nSwapFree:           1024 kB\nDirty:           "
    "     44 kB\n"
    "AnonPages:         23636 kB\nShmem:             12756 kB\nSlab:             192948 kB\nHugePages_Total: "
    "      7\n";

TEST(procfs, meminfo_is_read_in_bytes) {
    Meminfo memory = parse_meminfo(kMeminfo);
    EXPECT_EQ(memory.total, 24684112 * int64_t{1024});
    EXPECT_EQ(memory.available, 24264092 * int64_t{1024});
    EXPECT_FALSE(parse_meminfo("MemTotal: 5\nMemAvailable: 6 MB\n").total.has_value());
    EXPECT_FALSE(parse_meminfo("MemTotal: 5\nMemAvailable: 6 MB\n").available.has_value());
}

TEST(procfs, meminfo_cut_anywhere_never_lies) {
    expect_cuts_lose_but_never_lie<Meminfo>(kMeminfo, parse_meminfo, {&Meminfo::total, &Meminfo::available});
}

std::vector<Count> keyed(std::string_view text, std::initializer_list<Keyed> wanted) {
    std::vector<Count> values(wanted.size(), 1);  // what stood there before goes
    parse_keyed(text, std::vector(wanted), values);
    return values;
}

TEST(procfs, lines_of_keys_are_read_in_any_order) {
    constexpr std::string_view text =
        "pgfault 99\npgmajfault 6326\noom_kill 2\ncompact_stall 17\noom_kill_other 5\n";
    EXPECT_THAT(keyed(text, {{"compact_stall"}, {"pgmajfault"}, {"oom"}, {"oom_kill"}}),
                ElementsAre(17, 6326, Count(), 2));
    EXPECT_THAT(keyed(kMeminfo, {{"Dirty", true}, {"SwapTotal", true}, {"Slab", true}}),
                ElementsAre(44 * 1024, 2048 * 1024, 192948 * 1024));
    EXPECT_THAT(keyed(kMeminfo, {{"Active(anon)", true}, {"HugePages_Total"}}), ElementsAre(1576 * 1024, 7));
}

TEST(procfs, lines_of_stat_with_one_number_are_read_by_their_key) {
    EXPECT_THAT(keyed(kStat, {{"ctxt"}, {"processes"}, {"procs_running"}, {"procs_blocked"}, {"intr"}}),
                ElementsAre(1249622, 13664, 3, 1, Count()));
}

TEST(procfs, a_line_in_another_unit_is_nothing) {
    EXPECT_THAT(keyed(kMeminfo, {{"Dirty"}, {"HugePages_Total", true}}), ElementsAre(Count(), Count()));
    EXPECT_THAT(keyed("Slab: 5 MB\nDirty: -1 kB\nShmem:\n", {{"Slab", true}, {"Dirty", true}, {"Shmem"}}),
                ElementsAre(Count(), Count(), Count()));
}

TEST(procfs, lines_of_keys_cut_anywhere_never_lie) {
    const std::vector<Keyed> wanted = {{"MemTotal", true}, {"SwapFree", true}, {"HugePages_Total"}};
    std::vector<Count> whole(wanted.size());
    parse_keyed(kMeminfo, wanted, whole);
    for (size_t size = 0; size < kMeminfo.size(); ++size) {
        std::vector<Count> cut(wanted.size());
        parse_keyed(kMeminfo.substr(0, size), wanted, cut);
        for (size_t i = 0; i < cut.size(); ++i)
            EXPECT_TRUE(!cut[i] || cut[i] == whole[i]) << kMeminfo.substr(0, size);
    }
}

TEST(procfs, pressure_is_read) {
    constexpr std::string_view text =
        "some avg10=1.02 avg60=5.83 avg300=2.21 total=11594325\nfull avg10=0.99 avg60=5.69 avg300=2.15 "
        "total=11003197\n";
    Pressure pressure = parse_pressure(text);
    EXPECT_EQ(pressure.some, 11594325);
    EXPECT_EQ(pressure.full, 11003197);
    EXPECT_FALSE(parse_pressure("").some.has_value());
    EXPECT_FALSE(parse_pressure("some avg10=0.10 avg60=0.81 avg300=0.82 total=5\n")
                     .full.has_value());  // cpu before 5.13
    EXPECT_FALSE(parse_pressure("some avg10=0.10\n").some.has_value());
    expect_cuts_lose_but_never_lie<Pressure>(text, parse_pressure, {&Pressure::some, &Pressure::full});
}

TEST(procfs, loadavg_is_read) {
    EXPECT_EQ(parse_loadavg("10.23 9.44 5.87 11/138 25163\n"), 10.23);
    for (std::string_view text : {"", "10.23 9.44", "nan 1 1\n", "inf 1 1\n", "-1 0 0\n", "x\n", "\n"})
        EXPECT_FALSE(parse_loadavg(text).has_value()) << text;
}

TEST(procfs, anonymous_pages_are_those_that_are_not_shared) {
    EXPECT_EQ(parse_anonymous_pages("765 414 300 1 0 90 0\n"), 114);
    EXPECT_FALSE(parse_anonymous_pages("765 414 300 1 0 90 0").has_value()) << "cut";
    EXPECT_FALSE(parse_anonymous_pages("765 414\n").has_value());
    EXPECT_FALSE(parse_anonymous_pages("765 300 414 1 0 90 0\n").has_value());
    EXPECT_FALSE(parse_anonymous_pages("").has_value());
}

TEST(procfs, run_delay_is_read) {
    EXPECT_EQ(parse_run_delay("928858 1234 7\n"), 1234);
    EXPECT_FALSE(parse_run_delay("928858 1234").has_value());
    EXPECT_FALSE(parse_run_delay("928858\n").has_value());
    EXPECT_FALSE(parse_run_delay("").has_value());
}

TEST(procfs, io_of_a_process_is_read) {
    constexpr std::string_view text =
        "rchar: 7289\nwchar: 313\nsyscr: 14\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: "
        "8192\ncancelled_write_bytes: 1\n";
    EXPECT_THAT(keyed(text, {{"rchar"}, {"wchar"}, {"read_bytes"}, {"write_bytes"}}),
                ElementsAre(7289, 313, 4096, 8192));
}

TEST(procfs, uptime_is_read) {
    EXPECT_EQ(parse_uptime("500.25 900.00\n"), 500.25);
    for (std::string_view text : {"", "500.25", "-1 0\n", "x\n"})
        EXPECT_FALSE(parse_uptime(text).has_value()) << text;
}

TEST(procfs, context_switches_of_a_process_are_read) {
    constexpr std::string_view text =
        "Name:\tcp\nState:\tD (disk sleep)\nvoluntary_ctxt_switches:\t88\nnonvoluntary_ctxt_switches:\t2\n";
    PidStatus status = parse_pid_status(text);
    EXPECT_EQ(status.voluntary_switches, 88);
    EXPECT_EQ(status.involuntary_switches, 2);
    expect_cuts_lose_but_never_lie<PidStatus>(
        text, parse_pid_status, {&PidStatus::voluntary_switches, &PidStatus::involuntary_switches});
}

}  // namespace
}  // namespace belay::procfs
