#include "many_parsers.h"
#include "procfs/children.h"
#include "procfs/cpu.h"
#include "procfs/diskstats.h"
#include "procfs/keyed.h"
#include "procfs/loadavg.h"
#include "procfs/meminfo.h"
#include "procfs/mountinfo.h"
#include "procfs/net_dev.h"
#include "procfs/pid_environ.h"
#include "procfs/pid_stat.h"
#include "procfs/pid_status.h"
#include "procfs/pressure.h"
#include "procfs/schedstat.h"
#include "procfs/stat.h"
#include "procfs/statm.h"
#include "procfs/uptime.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

namespace {

using namespace belay::procfs;

void require_count(std::optional<int64_t> value) {
    require(!value || *value >= 0);
}

void fuzz_stat(std::string_view text) {
    Stat stat = parse_stat(text);
    require_count(stat.user);
    require_count(stat.cpus_online);
}
void fuzz_meminfo(std::string_view text) {
    require_count(parse_meminfo(text).total);
}
void fuzz_keyed(std::string_view text) {
    static constexpr Keyed kWanted[] = {{"oom_kill"}, {"pgmajfault"}, {"Committed_AS", true}};
    std::optional<int64_t> values[std::size(kWanted)];
    parse_keyed(text, kWanted, values);
    for (auto value : values) require_count(value);
}
void fuzz_pressure(std::string_view text) {
    require_count(parse_pressure(text).some);
}
void fuzz_loadavg(std::string_view text) {
    require(parse_loadavg(text).value_or(0) >= 0);
}
void fuzz_schedstat(std::string_view text) {
    require_count(parse_run_delay(text));
}
void fuzz_statm(std::string_view text) {
    require_count(parse_anonymous_pages(text));
}
void fuzz_pid_io(std::string_view text) {
    static constexpr Keyed kWanted[] = {{"rchar"}, {"read_bytes"}};
    std::optional<int64_t> values[std::size(kWanted)];
    parse_keyed(text, kWanted, values);
    for (auto value : values) require_count(value);
}

void fuzz_net_dev(std::string_view text) {
    std::vector<NetworkDevice> devices;
    parse_net_dev(text, devices);
    for (const NetworkDevice& device : devices) require(!device.name.empty());
}

void fuzz_diskstats(std::string_view text) {
    std::vector<Disk> disks;
    parse_diskstats(text, disks);
    for (const Disk& disk : disks) require(!disk.name.empty());
}

void fuzz_mountinfo(std::string_view text) {
    for (const Mount& mount : parse_mountinfo(text))
        require(mount.mount_point.starts_with('/') && !mount.type.empty());
}

void fuzz_pid_stat(std::string_view text) {
    std::optional<PidStat> stat = parse_pid_stat(text);
    require(!stat || (stat->pid >= 0 && stat->start_ticks >= 0 && stat->command.size() < text.size()));
}

void fuzz_uptime(std::string_view text) {
    require(parse_uptime(text).value_or(0) >= 0);
}
void fuzz_pid_status(std::string_view text) {
    require_count(parse_pid_status(text).voluntary_switches);
}
void fuzz_cache_size(std::string_view text) {
    require_count(parse_cache_size(text));
}

void fuzz_cpu_list(std::string_view text) {
    auto cpus = parse_cpu_list(text);
    require(!cpus || (std::ranges::is_sorted(*cpus) && (cpus->empty() || cpus->front() >= 0)));
}

void fuzz_cpuinfo(std::string_view text) {
    for (const auto& [cpu, megahertz] : parse_cpuinfo_clocks(text)) require(cpu >= 0 && megahertz >= 0);
}

void fuzz_environ(std::string_view text) {
    EnvironVariable variable("RANK", 20), by_bytes("RANK", 20);
    bool found = variable.feed(text), found_by_bytes = false;
    for (size_t i = 0; i < text.size() && !found_by_bytes; ++i)
        found_by_bytes = by_bytes.feed(text.substr(i, 1));
    require(found == found_by_bytes && variable.value() == by_bytes.value() && variable.value().size() <= 21);
}

void fuzz_children(std::string_view text) {
    for (pid_t child : parse_children(text)) require(child > 0);
}

constexpr void (*kParsers[])(std::string_view) = {
    fuzz_stat,     fuzz_meminfo,   fuzz_keyed,     fuzz_pressure,   fuzz_loadavg,
    fuzz_net_dev,  fuzz_diskstats, fuzz_mountinfo, fuzz_pid_stat,   fuzz_schedstat,
    fuzz_pid_io,   fuzz_statm,     fuzz_uptime,    fuzz_pid_status, fuzz_cache_size,
    fuzz_cpu_list, fuzz_cpuinfo,   fuzz_environ,   fuzz_children};

}  // namespace

// Whatever stands in /proc, and wherever it is cut. The first byte says which parser reads the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
