// proc.dstate, proc.zombie, env.var, net.tcp
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"
#include "procfs/pid_status.h"
#include "procfs/uptime.h"
#include "transfer/socket.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <unistd.h>

namespace belay::vet {

namespace {

constexpr int kLooks = 5;

}  // namespace

ProcessFacts process_facts(const procfs::PidStat& stat, double uptime, double tick) {
    return {.pid = stat.pid,
            .command = std::string(stat.command),
            .state = stat.state,
            .age_seconds = uptime - static_cast<double>(stat.start_ticks) * tick,
            .kernel_thread = stat.kernel_thread.value_or(false),
            .started = stat.start_ticks};
}

std::vector<ProcessFacts> suspects(const std::vector<ProcessFacts>& processes, char state,
                                   double age_seconds) {
    std::vector<ProcessFacts> out;
    for (const ProcessFacts& process : processes)
        if (process.state == state && process.age_seconds > age_seconds && !process.kernel_thread)
            out.push_back(process);
    return out;
}

std::vector<ProcessFacts> still_the_same(const std::vector<ProcessFacts>& before,
                                         const std::vector<ProcessFacts>& now) {
    std::vector<ProcessFacts> out;
    for (const ProcessFacts& process : before)
        if (std::any_of(now.begin(), now.end(), [&](const ProcessFacts& each) {
                return each.pid == process.pid && each.started == process.started &&
                       each.state == process.state && each.switches == process.switches;
            }))
            out.push_back(process);
    return out;
}

Outcome judge_processes(const std::vector<ProcessFacts>& processes, int64_t max) {
    std::vector<std::string> found;
    for (const ProcessFacts& process : processes)
        found.push_back(fmt::format("{} ({})", process.pid, process.command));
    Outcome out = pass_or_fail(static_cast<int64_t>(found.size()) <= max);
    out.value = static_cast<double>(found.size());
    out.unit = "processes";
    out.limit = static_cast<double>(max);
    if (found.size() > 5) found.resize(5);
    out.reason = found.empty() ? "none" : core::join(found, ", ");
    return out;
}

Outcome judge_variables(const Variables& expected, const Variables& found) {
    if (expected.empty()) return unsupported_outcome("no variables are set: give expected");
    std::vector<std::string> wrong;
    for (const auto& [name, wanted] : expected) {
        auto it = found.find(name);
        if (it == found.end() || !it->second)
            wrong.push_back(name + " is not set");
        else if (wanted && *it->second != *wanted)
            wrong.push_back(name + " is set to something else");  // a record holds no values (SECURITY.md)
    }
    return pass_or_fail(wrong.empty(), wrong.empty()
                                           ? fmt::format("{} variables are as expected", expected.size())
                                           : core::join(wrong, "; "));
}

namespace {

// How often the process left a CPU; 0 where the kernel does not tell.
uint64_t switches_in(std::string_view text) {
    procfs::PidStatus status = procfs::parse_pid_status(text);
    return static_cast<uint64_t>(status.voluntary_switches.value_or(0)) +
           static_cast<uint64_t>(status.involuntary_switches.value_or(0));
}

core::Result<std::vector<ProcessFacts>> look(const NodeView& node, char state, double age_seconds) {
    BELAY_TRY(uptime_text, core::read_file(node.path("/proc/uptime"), 4096));
    auto uptime = procfs::parse_uptime(uptime_text);
    if (!uptime) return core::system_error("/proc/uptime cannot be understood");
    double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::vector<ProcessFacts> processes;
    std::error_code error;
    for (std::filesystem::directory_iterator it(node.path("/proc"), error), end; !error && it != end;
         it.increment(error)) {
        if (!core::parse_number<int>(it->path().filename().string())) continue;
        auto text = core::read_file(it->path() / "stat", 4096);  // it may have ended meanwhile
        if (!text) continue;
        if (auto stat = procfs::parse_pid_stat(*text))
            processes.push_back(process_facts(*stat, *uptime, tick));
    }
    if (error) return core::errno_error(error, "cannot list /proc");
    processes = suspects(processes, state, age_seconds);
    for (ProcessFacts& process : processes)
        if (auto text = core::read_file(node.path(fmt::format("/proc/{}/status", process.pid)), 64 << 10))
            process.switches = switches_in(*text);
    return processes;
}

// A process that waits for a disk, or has ended and will be reaped in a moment, is healthy: only those count
// that stay as they are in every look.
Outcome measure_processes(const Check& check, const NodeView& node, char state) {
    // Mounted with hidepid, /proc shows an ordinary user only his own processes.
    if (access(node.path("/proc/1").c_str(), F_OK) != 0 && errno == ENOENT)
        return unsupported_outcome("/proc hides processes of other users (hidepid): run this check as root");
    double age = core::to_seconds(check.get<core::Duration>("age").value_or(core::Duration{}));
    auto watch = check.get<core::Duration>("watch").value_or(core::Duration{});
    auto stuck = look(node, state, age);
    for (int again = 1; again < kLooks && stuck && !stuck->empty(); ++again) {
        std::this_thread::sleep_for(watch / (kLooks - 1));
        auto now = look(node, state, age);
        if (!now) return error_outcome(now.error());
        stuck = still_the_same(*stuck, *now);
    }
    if (!stuck) return error_outcome(stuck.error());
    return judge_processes(*stuck, check.get<int64_t>("max").value_or(0));
}

}  // namespace

Outcome measure_waiting(const Check& check, const NodeView& node) {
    return measure_processes(check, node, 'D');
}

Outcome measure_zombies(const Check& check, const NodeView& node) {
    return measure_processes(check, node, 'Z');
}

Outcome measure_env_var(const Check& check, const NodeView&) {
    Variables found;
    for (auto& [name, value] : core::current_environment()) found[name] = value;
    return judge_variables(check.get<Variables>("expected").value_or(Variables{}), found);
}

Outcome measure_tcp(const Check& check, const NodeView&) {
    int64_t port = check.get<int64_t>("port").value_or(53);
    std::string host = *check.get<std::string>("host");
    core::Duration timeout = check.get<core::Duration>("timeout").value_or(check.timeout);
    auto deadline = core::Deadline::after(timeout);
    auto destination = transfer::find_destination(host, static_cast<uint16_t>(port));
    if (!destination) return error_outcome(destination.error());
    auto connected = transfer::connect_to(*destination, deadline);
    if (connected) return pass_or_fail(true, fmt::format("{}:{} answers", host, port));
    core::Cause cause = connected.error().cause();
    if (cause == core::Cause::kUnreachable || cause == core::Cause::kTimedOut)
        return pass_or_fail(false, std::move(connected.error()));
    return error_outcome(connected.error());  // nothing is known of the other side
}

}  // namespace belay::vet
