// proc.dstate, proc.zombie, env.var, net.tcp
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"
#include "transfer/socket.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>
#include <unistd.h>

namespace belay::vet {

std::optional<ProcessFacts> parse_process_stat(std::string_view text, double uptime, double tick) {
    // 12 (name, which may hold anything) S 1 …; the start time is field 22
    size_t open = text.find(" ("), close = text.rfind(") ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return std::nullopt;
    auto pid = core::parse_number<int>(text.substr(0, open));
    auto fields = core::split_words(text.substr(close + 2));
    if (!pid || fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
    auto start = core::parse_number<uint64_t>(fields[19]);
    if (!start) return std::nullopt;
    return ProcessFacts{*pid, std::string(text.substr(open + 2, close - open - 2)), fields[0][0],
                        uptime - static_cast<double>(*start) * tick};
}

Outcome judge_processes(const std::vector<ProcessFacts>& processes, char state, double age_seconds,
                        int64_t max) {
    std::vector<std::string> found;
    for (const ProcessFacts& process : processes)
        if (process.state == state && process.age_seconds > age_seconds)
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
    std::vector<std::string> wrong;
    for (const auto& [name, wanted] : expected) {
        auto it = found.find(name);
        if (it == found.end() || !it->second)
            wrong.push_back(name + " is not set");
        else if (wanted && *it->second != *wanted)
            wrong.push_back(fmt::format("{} is \"{}\", not \"{}\"", name, *it->second, *wanted));
    }
    return pass_or_fail(wrong.empty(), wrong.empty()
                                           ? fmt::format("{} variables are as expected", expected.size())
                                           : core::join(wrong, "; "));
}

namespace {

Outcome measure_processes(const Check& check, const NodeView& node, char state) {
    auto uptime_text = core::read_file(node.path("/proc/uptime"), 4096);
    if (!uptime_text) return error_outcome(uptime_text.error().message());
    auto words = core::split_words(*uptime_text);
    auto uptime = words.empty() ? std::nullopt : core::parse_number<double>(words[0]);
    if (!uptime) return error_outcome("/proc/uptime cannot be understood");
    double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::vector<ProcessFacts> processes;
    std::error_code error;
    for (std::filesystem::directory_iterator it(node.path("/proc"), error), end; !error && it != end;
         it.increment(error)) {
        if (!core::parse_number<int>(it->path().filename().string())) continue;
        auto text = core::read_file(it->path() / "stat", 4096);  // it may have ended meanwhile
        if (!text) continue;
        if (auto facts = parse_process_stat(*text, *uptime, tick)) processes.push_back(std::move(*facts));
    }
    if (error) return error_outcome(fmt::format("/proc: {}", error.message()));
    return judge_processes(processes, state,
                           core::to_seconds(check.get<core::Duration>("age").value_or(core::Duration{})),
                           check.get<int64_t>("max").value_or(0));
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
    if (port < 1 || port > 65535) return error_outcome(fmt::format("{} is no TCP port", port));
    std::string host = *check.get<std::string>("host");
    core::Duration timeout = check.get<core::Duration>("timeout").value_or(check.timeout);
    auto connected = transfer::connect_to(host, static_cast<uint16_t>(port), transfer::deadline_in(timeout));
    if (!connected) return pass_or_fail(false, connected.error().message());
    return pass_or_fail(true, fmt::format("{}:{} answers", host, port));
}

}  // namespace belay::vet
