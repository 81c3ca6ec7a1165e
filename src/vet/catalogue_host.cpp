// The check types that need nothing but the host and the network.
#include "vet/catalogue.h"
#include "vet/checks.h"

#include <limits>

namespace belay::vet {

namespace {

using namespace std::chrono_literals;

// Parameters without an upper limit of their own.
constexpr double kMany = std::numeric_limits<double>::infinity();
constexpr Range kCount{0, kMany}, kAtLeastOne{1, kMany}, kRates{0, kMany};
constexpr Range kThreads{1, 1024}, kRepeats{1, 1000};
constexpr double kKiB = 1024, kGiB = kKiB * kKiB * kKiB;

constexpr Parameter kMemFree[] = {
    {"min", Kind::kSize, "bytes", "", false, "memory that must be available"},
    {"min_share", Kind::kShare, "ratio", "", false, "share of all memory that must be available"}};
constexpr Parameter kMount[] = {
    {"path", Kind::kText, "", "", true, "directory on which a file system must be mounted"},
    {"filesystem", Kind::kText, "", "", false, "its type, such as lustre"},
    {"writable", Kind::kBoolean, "", "false", false, "whether it must not be mounted read-only"}};
constexpr Parameter kUsage[] = {
    {"path", Kind::kText, "", "", true, "any path on the file system"},
    {"warn", Kind::kShare, "ratio", "0.80", false, "share in use that is mentioned"},
    {"crit", Kind::kShare, "ratio", "0.85", false, "share in use, of bytes or inodes, that fails"},
    {"min_free", Kind::kSize, "bytes", "", false, "bytes that must be free"},
    {"min_free_inodes", Kind::kInteger, "", "", false, "inodes that must be free", kCount}};
constexpr Parameter kWrite[] = {
    {"path", Kind::kText, "", "", true, "directory in which a file is written, synced and removed"},
    {"size", Kind::kSize, "bytes", "1MiB", false, "size of that file", Range{1, 1024 * kGiB}}};
constexpr Parameter kVariables[] = {{"expected", Kind::kVariables, "", "", true,
                                     "variables that must be set, with their value or null for any"}};
constexpr Parameter kTcp[] = {{"host", Kind::kText, "", "", true, "name or address to connect to"},
                              {"port", Kind::kInteger, "", "", true, "TCP port", Range{1, 65535}}};
constexpr Parameter kCpuCount[] = {
    {"expected", Kind::kInteger, "", "", false, "CPUs that must be online, exactly", kAtLeastOne},
    {"min", Kind::kInteger, "", "", false, "CPUs that must be online at least", kAtLeastOne}};
constexpr Parameter kFrequency[] = {
    {"min", Kind::kNumber, "MHz", "1498", false, "clock that no CPU may be below", kRates}};
constexpr Parameter kGovernor[] = {
    {"expected", Kind::kText, "", "performance", false, "frequency governor of every CPU"}};
constexpr Parameter kKmsg[] = {
    {"patterns", Kind::kPatternList, "", "", true, "regular expressions of which none may match"},
    {"window", Kind::kDuration, "s", "", false, "how far back to look; without it, since the node booted"},
    {"source", Kind::kText, "", "/dev/kmsg", false, "file or device of kernel messages"}};
constexpr Parameter kXid[] = {
    {"classes", Kind::kXidClassList, "", "[reset_gpu, reboot, drain_inspect, workflow]", false,
     "classes of XIDs that fail, of those in the table of XIDs"},
    {"window", Kind::kDuration, "s", "", false, "how far back to look; without it, since the node booted"},
    {"source", Kind::kText, "", "/dev/kmsg", false, "file or device of kernel messages"}};
constexpr Parameter kProcesses[] = {
    {"age", Kind::kDuration, "s", "300s", false, "only processes that started longer ago than this"},
    {"watch", Kind::kDuration, "s", "2s", false,
     "how long they are looked at, five times: only those that never change count", Range{0, 3600}},
    {"max", Kind::kInteger, "", "0", false, "how many there may be", kCount}};
constexpr Parameter kStream[] = {
    {"min", Kind::kBandwidth, "bytes/s", "", false, "bandwidth that must be reached"},
    {"size", Kind::kSize, "bytes", "", false,
     "of each of the three arrays, at least four times the last caches of the CPUs used; without it that, "
     "and 64MiB at least",
     Range{kKiB, 64 * kGiB}},
    {"threads", Kind::kInteger, "", "", false, "without it, one for every CPU that the task may use",
     kThreads},
    {"repeats", Kind::kInteger, "", "5", false, "runs, of which the best counts", kRepeats}};
constexpr Parameter kGemm[] = {
    {"min", Kind::kNumber, "GFLOP/s", "", false, "rate that must be reached", kRates},
    {"size", Kind::kInteger, "", "1024", false,
     "rows and columns of the matrices for one thread; with OpenBLAS, times the root of the threads",
     Range{16, 8192}},
    {"threads", Kind::kInteger, "", "", false, "without it, one for every CPU that the task may use",
     kThreads},
    {"repeats", Kind::kInteger, "", "5", false, "runs, of which the best counts", kRepeats}};
constexpr Parameter kPairs[] = {
    {"min", Kind::kBandwidth, "bytes/s", "", false,
     "bandwidth that every pair must reach in both directions"},
    {"duration", Kind::kDuration, "s", "500ms", false, "how long each direction is measured",
     Range{0.01, 10}},
    {"streams", Kind::kInteger, "", "1", false, "TCP connections side by side", Range{1, 16}}};
constexpr Parameter kClock[] = {
    {"max", Kind::kDuration, "s", "100ms", false, "difference from the median of all nodes that is allowed"}};

constexpr CheckType kTypes[] = {
    {.type = "mem.free",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "enough memory is available",
     .parameters = kMemFree,
     .measure = measure_memory_free},
    {.type = "fs.mount",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a file system is mounted",
     .parameters = kMount,
     .measure = measure_mount,
     .timeout = 5s},
    {.type = "fs.usage",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a file system has free bytes and inodes",
     .parameters = kUsage,
     .measure = measure_usage,
     .timeout = 5s},
    {.type = "fs.write",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a directory can be written to",
     .parameters = kWrite,
     .measure = measure_write,
     .timeout = 5s},
    {.type = "env.var",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "environment variables are set as expected",
     .parameters = kVariables,
     .measure = measure_env_var},
    {.type = "net.tcp",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "a TCP connection succeeds",
     .parameters = kTcp,
     .measure = measure_tcp,
     .timeout = 3s},
    {.type = "cpu.count",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "no CPU is offline",
     .parameters = kCpuCount,
     .measure = measure_cpu_count},
    {.type = "cpu.freq",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "no CPU runs slowly",
     .parameters = kFrequency,
     .measure = measure_cpu_frequency},
    {.type = "cpu.governor",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "every CPU has the right frequency governor",
     .parameters = kGovernor,
     .measure = measure_governor},
    {.type = "cpu.stream",
     .scope = Scope::kNode,
     .cost = Cost::kExclusive,
     .summary = "memory bandwidth (STREAM triad)",
     .parameters = kStream,
     .measure = measure_stream,
     .timeout = 60s},
    {.type = "cpu.gemm",
     .scope = Scope::kNode,
     .cost = Cost::kExclusive,
     .summary = "rate of a double precision matrix product, by OpenBLAS where it is installed",
     .parameters = kGemm,
     .measure = measure_gemm,
     .timeout = 60s},
    {.type = "cpu.sgemm",
     .scope = Scope::kNode,
     .cost = Cost::kExclusive,
     .summary = "rate of a single precision matrix product, by OpenBLAS where it is installed",
     .parameters = kGemm,
     .measure = measure_single_gemm,
     .timeout = 60s},
    {.type = "host.kmsg",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "the kernel log is free of certain messages",
     .parameters = kKmsg,
     .measure = measure_kmsg},
    {.type = "gpu.xid",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "the kernel log is free of grave GPU errors (XIDs)",
     .parameters = kXid,
     .measure = measure_xid},
    {.type = "proc.dstate",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "no old process of a user is stuck, waiting for a device",
     .parameters = kProcesses,
     .measure = measure_waiting},
    {.type = "proc.zombie",
     .scope = Scope::kNode,
     .cost = Cost::kInstant,
     .summary = "no old process is a zombie",
     .parameters = kProcesses,
     .measure = measure_zombies},
    {.type = "net.pair_bandwidth",
     .scope = Scope::kStep,
     .cost = Cost::kShort,
     .summary = "TCP bandwidth between pairs of nodes, and which node is slow",
     .parameters = kPairs},
    {.type = "clock.offset",
     .scope = Scope::kStep,
     .cost = Cost::kInstant,
     .summary = "the clocks of the nodes agree",
     .parameters = kClock},
};

}  // namespace

std::span<const CheckType> host_check_types() {
    return kTypes;
}

}  // namespace belay::vet
