// host.kmsg and gpu.xid
#include "core/file.h"
#include "core/text.h"
#include "gpu/xid.h"
#include "procfs/kernel_log.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <re2/re2.h>

namespace belay::vet {

namespace {

constexpr size_t kMaxMessages = 1'000'000;
constexpr double kLogGap = 10;      // seconds without a message that mean nothing
constexpr size_t kShownText = 160;  // bytes of a message in a reason

double seconds_since_boot() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Log {
    std::vector<procfs::KernelMessage> messages = {};
    size_t whole_from = 0;  // messages before this one were followed by some that are lost
};

// Records of /dev/kmsg (one per read) or lines of a file with the same records.
core::Result<Log> read_log(const std::filesystem::path& path) {
    BELAY_TRY(fd, core::open_file(path, O_RDONLY | O_NONBLOCK));
    Log log;
    struct stat facts{};
    if (fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode)) {
        BELAY_TRY(text, core::read_file(path, size_t{64} << 20));
        for (std::string_view line : core::split(text, '\n'))
            if (auto message = procfs::parse_kernel_message(line))
                log.messages.push_back(std::move(*message));
        return log;
    }
    std::array<char, 16 * 1024> record;  // a longer one is refused by the kernel (EINVAL)
    while (log.messages.size() < kMaxMessages) {
        ssize_t n = read(fd.get(), record.data(), record.size());
        if (n == 0 || (n < 0 && errno == EAGAIN)) return log;
        // EPIPE: the next messages were overwritten before they were read.
        if (n < 0 && errno == EPIPE) log.whole_from = log.messages.size();
        if (n < 0 && (errno == EPIPE || errno == EINTR)) continue;
        if (n < 0) return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
        if (auto message = procfs::parse_kernel_message({record.data(), static_cast<size_t>(n)}))
            log.messages.push_back(std::move(*message));
    }
    return core::system_error("{} holds more than {} messages", path.string(), kMaxMessages);
}

std::string shown(std::string_view text) {
    return std::string(text.substr(0, kShownText)) + (text.size() > kShownText ? "…" : "");
}

Outcome with_messages(const Check& check, const NodeView& node,
                      Outcome (*judge)(const std::vector<procfs::KernelMessage>&, const TextList&),
                      std::string_view list) {
    auto wanted = check.get<TextList>(list);
    if (!wanted) return unsupported_outcome(fmt::format("no {} are set: give {}", list, list));
    std::string source = check.get<std::string>("source").value_or("/dev/kmsg");
    auto log = read_log(node.path(source));
    if (!log) {
        const bool denied = log.error().cause() == core::Cause::kDenied;
        return error_outcome(
            std::move(log.error())
                .after(denied ? " (kernel.dmesg_restrict keeps it from ordinary users)" : ""));
    }
    return judge_log(log->messages, log->whole_from, check.get<core::Duration>("window"),
                     seconds_since_boot(), [&](const auto& messages) { return judge(messages, *wanted); });
}

}  // namespace

Outcome judge_kernel_messages(const std::vector<procfs::KernelMessage>& messages, const TextList& patterns) {
    std::vector<std::unique_ptr<re2::RE2>> compiled;
    for (const std::string& pattern : patterns)
        compiled.push_back(std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet));
    size_t count = 0;
    std::string first;
    for (const procfs::KernelMessage& message : messages) {
        bool matches = std::any_of(compiled.begin(), compiled.end(), [&](const auto& pattern) {
            return re2::RE2::PartialMatch(message.text, *pattern);
        });
        if (matches && count++ == 0) first = shown(message.text);
    }
    Outcome out =
        pass_or_fail(count == 0, count == 0 ? fmt::format("none of {} messages matches", messages.size())
                                            : fmt::format("{} messages match, first: {}", count, first));
    out.value = static_cast<double>(count);
    out.unit = "messages";
    out.limit = 0;
    return out;
}

Outcome judge_log(std::vector<procfs::KernelMessage> messages, size_t whole_from,
                  std::optional<core::Duration> window, double now,
                  const std::function<Outcome(const std::vector<procfs::KernelMessage>&)>& judge) {
    if (whole_from >= messages.size())
        return error_outcome(core::system_error("there are no kernel messages to read"));
    double whole_since = messages[whole_from].seconds;
    double oldest = window ? std::max(now - core::to_seconds(*window), 0.0) : 0;
    std::erase_if(messages, [&](const procfs::KernelMessage& message) { return message.seconds < oldest; });
    Outcome out = judge(messages);
    if (out.status != Status::kPass || whole_since <= oldest + kLogGap) return out;
    out.status = Status::kError;
    out.reason += fmt::format(
        "; but the log only reaches back to {:.0f} s after the node booted, and the window begins at {:.0f} "
        "s: "
        "what came between is lost, unless the protocol asks for a shorter window",
        whole_since, oldest);
    return out;
}

bool xid_is_grave(const procfs::Xid& xid, const TextList& classes) {
    if (xid.code == 45) return false;  // follows other XIDs, and every killed job (src/gpu/xid.tsv)
    if (xid.code == 154 && xid.recovery) return *xid.recovery != 0;
    // Of NVLink 5 the line itself says whether work can go on.
    if (xid.nvlink && (!xid.nvlink->is_fatal || xid.nvlink->is_injected)) return false;
    std::string_view class_name = gpu::xid_meaning(xid.code).class_name;
    return std::find(classes.begin(), classes.end(), class_name) != classes.end();
}

Outcome judge_xids(const std::vector<procfs::KernelMessage>& messages, const TextList& classes) {
    size_t grave = 0, seen = 0;
    std::optional<procfs::Xid> first;
    std::map<int, size_t> codes;  // of the grave ones
    for (const procfs::KernelMessage& message : messages) {
        auto xid = procfs::parse_xid(message.text);
        if (!xid) continue;
        ++seen;
        if (!xid_is_grave(*xid, classes)) continue;
        ++codes[xid->code];
        if (grave++ == 0) first = std::move(xid);
    }
    Outcome out = pass_or_fail(grave == 0);
    out.value = static_cast<double>(grave);
    out.unit = "messages";
    out.limit = 0;
    if (!first) {
        out.reason =
            seen == 0 ? "no XID in the kernel log" : fmt::format("{} XIDs, none of them grave", seen);
        return out;
    }
    const gpu::XidMeaning found = gpu::xid_meaning(first->code);
    out.device = first->device;
    std::string others;
    for (const auto& [code, times] : codes)
        if (code != first->code) others += fmt::format("{}{}", others.empty() ? "; also " : ", ", code);
    out.reason = fmt::format("{} grave XIDs, first: XID {} ({}, class {}): {}{}", grave, first->code,
                             found.name, found.class_name, shown(first->text), others);
    return out;
}

Outcome measure_kmsg(const Check& check, const NodeView& node) {
    return with_messages(check, node, judge_kernel_messages, "patterns");
}

Outcome measure_xid(const Check& check, const NodeView& node) {
    Outcome out = with_messages(check, node, judge_xids, "classes");
    std::error_code error;
    bool none_found = out.value == 0.0;  // without a value the log could not be read
    if (none_found && !std::filesystem::exists(node.path("/proc/driver/nvidia/version"), error))
        return unsupported_outcome("NVIDIA's driver, which reports XIDs, is not loaded on this node");
    return out;
}

}  // namespace belay::vet
