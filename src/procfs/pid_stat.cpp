#include "procfs/pid_stat.h"

#include "core/text.h"
#include "procfs/scan.h"

namespace belay::procfs {

namespace {

constexpr int64_t kKernelThread = 0x00200000;  // PF_KTHREAD of include/linux/sched.h

}  // namespace

std::optional<PidStat> parse_pid_stat(std::string_view text) {
    if (!text.ends_with('\n')) return std::nullopt;
    text.remove_suffix(1);
    size_t open = text.find(" (");
    size_t close = text.rfind(") ");  // the command may hold parentheses itself
    if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
        return std::nullopt;

    PidStat stat;
    std::optional<int64_t> pid = count(text.substr(0, open));
    stat.command = text.substr(open + 2, close - open - 2);
    Words words(text.substr(close + 2));
    std::string_view state = words.next();
    std::optional<int64_t> parent = count(words.next());
    words.skip(4);  // pgrp, session, tty_nr, tpgid
    if (std::optional<int64_t> flags = count(words.next()))
        stat.kernel_thread = (*flags & kKernelThread) != 0;
    words.skip(2);  // minflt, cminflt
    stat.page_faults_major = count(words.next());
    words.skip(1);  // cmajflt
    stat.user_ticks = count(words.next());
    stat.system_ticks = count(words.next());
    stat.children_user_ticks = count(words.next());
    stat.children_system_ticks = count(words.next());
    words.skip(2);  // priority, nice
    stat.threads = count(words.next());
    words.skip(1);  // itrealvalue
    std::optional<int64_t> start = count(words.next());
    stat.virtual_bytes = count(words.next());
    stat.resident_pages = count(words.next());
    words.skip(14);  // rsslim to exit_signal
    stat.processor = count(words.next());
    if (!pid || !parent || state.size() != 1 || !start) return std::nullopt;
    stat.pid = *pid;
    stat.parent_pid = *parent;
    stat.state = state.front();
    stat.start_ticks = *start;
    return stat;
}

}  // namespace belay::procfs
