// What checks read, as values, and the pure functions that judge them.
#pragma once

#include "procfs/kernel_log.h"
#include "procfs/meminfo.h"
#include "procfs/mountinfo.h"
#include "procfs/pid_stat.h"
#include "vet/catalogue.h"
#include "vet/protocol.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::vet {

// Without a minimum: unsupported.
Outcome judge_memory(const procfs::Meminfo& memory, std::optional<uint64_t> min,
                     std::optional<double> min_share);

Outcome judge_mount(std::span<const procfs::Mount> mounts, std::string_view path,
                    const std::optional<std::string>& filesystem, bool writable);

struct UsageFacts {
    uint64_t block_bytes = 0;
    uint64_t blocks = 0, free_blocks = 0, available_blocks = 0;  // available: to those who are not root
    uint64_t inodes = 0, free_inodes = 0;                        // no inodes: the file system has no limit
};
struct UsageLimits {
    double warn = 0.8;
    std::optional<double> crit = 0.85;  // shares in use, as df counts
    std::optional<uint64_t> min_free_bytes = {}, min_free_inodes = {};
};
// Unsupported without a limit, and for a file system that has no blocks to count.
Outcome judge_usage(const UsageFacts& facts, const UsageLimits& limits);

Outcome judge_cpu_count(int64_t online, std::optional<int64_t> expected, std::optional<int64_t> min);
// Clocks in MHz by CPU.
Outcome judge_frequency(const std::vector<std::pair<int, double>>& megahertz, double min);
// The bytes of the last caches that these CPUs have, each cache counted once; nothing where /sys tells of
// none.
std::optional<uint64_t> last_cache_bytes(const NodeView& node, std::span<const int> cpus);
// Of each of a triad's arrays, so that memory is measured and no cache: 64 MiB at least.
uint64_t default_array_bytes(std::optional<uint64_t> cache_bytes);

Outcome judge_kernel_messages(const std::vector<procfs::KernelMessage>& messages, const TextList& patterns);

// Judges those of the window that ends `now` (without one, all since the node booted). Where nothing is found
// and the log does not hold the whole window, that is an error. Messages before `whole_from` were followed by
// lost ones.
Outcome judge_log(std::vector<procfs::KernelMessage> messages, size_t whole_from,
                  std::optional<core::Duration> window, double now,
                  const std::function<Outcome(const std::vector<procfs::KernelMessage>&)>& judge);

// Whether the message counts against the node: its class (gpu/xid.h) is one of `classes`, XID 45 never does,
// XID 154 as it asks.
bool xid_is_grave(const procfs::Xid& xid, const TextList& classes);
Outcome judge_xids(const std::vector<procfs::KernelMessage>& messages, const TextList& classes);

struct ProcessFacts {
    int64_t pid = 0;
    std::string command;
    char state = '?';
    double age_seconds = 0;
    bool kernel_thread = false;
    int64_t started = 0;    // in ticks since the node booted: with the pid it tells processes apart
    uint64_t switches = 0;  // how often it left a CPU, where the kernel tells
};
// `uptime` of the node and clock ticks in seconds.
ProcessFacts process_facts(const procfs::PidStat& stat, double uptime, double tick);
// Those of the earlier look that are still there and have not run since: the same process, state and number
// of context switches (by which the kernel itself finds hung tasks, kernel/hung_task.c).
std::vector<ProcessFacts> still_the_same(const std::vector<ProcessFacts>& before,
                                         const std::vector<ProcessFacts>& now);
// `processes` are those in question. Kernel threads are left out: some wait like this all their lives.
Outcome judge_processes(const std::vector<ProcessFacts>& processes, int64_t max);
// Processes of users in the state, started longer ago than this.
std::vector<ProcessFacts> suspects(const std::vector<ProcessFacts>& processes, char state,
                                   double age_seconds);

Outcome judge_variables(const Variables& expected, const Variables& found);

}  // namespace belay::vet
