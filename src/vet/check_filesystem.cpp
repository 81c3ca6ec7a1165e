// fs.mount, fs.usage, fs.write. They run in a child that can be killed, as every check does: a file server
// that does not answer must not hold vetting up.
#include "core/file.h"
#include "core/tell.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace belay::vet {

Outcome judge_mount(std::span<const procfs::Mount> mounts, std::string_view path,
                    const std::optional<std::string>& filesystem, bool writable) {
    const procfs::Mount* found = procfs::mounted_on(mounts, path);
    if (found == nullptr) return pass_or_fail(false, fmt::format("nothing is mounted on {}", path));
    if (filesystem && found->type != *filesystem)
        return pass_or_fail(false,
                            fmt::format("{} is mounted on {}, not {}", found->type, path, *filesystem));
    if (writable && found->read_only)
        return pass_or_fail(false, fmt::format("{} is mounted read-only", path));
    return pass_or_fail(true, fmt::format("{} is mounted on {}", found->type, path));
}

Outcome judge_usage(const UsageFacts& facts, const UsageLimits& limits) {
    if (facts.blocks == 0) return unsupported_outcome("the file system has no blocks to count");
    if (!limits.crit && !limits.min_free_bytes && !limits.min_free_inodes)
        return unsupported_outcome("no limit is set: give crit, min_free or min_free_inodes");
    auto share = [](uint64_t used, uint64_t rest) {
        return used + rest == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(used + rest);
    };
    double bytes_used =
        share(facts.blocks - std::min(facts.blocks, facts.free_blocks), facts.available_blocks);
    double inodes_used = share(facts.inodes - std::min(facts.inodes, facts.free_inodes), facts.free_inodes);
    uint64_t free_bytes = facts.available_blocks * facts.block_bytes;
    bool inodes_worse = facts.inodes > 0 && inodes_used > bytes_used;
    Outcome out =
        pass_or_fail(std::max(bytes_used, inodes_worse ? inodes_used : 0) <= limits.crit.value_or(1));
    out.value = inodes_worse ? inodes_used : bytes_used;
    out.unit = "ratio";
    out.limit = limits.crit;
    out.reason = fmt::format(
        "{:.1f} % of {} in use, {} free", 100 * *out.value, inodes_worse ? "inodes" : "bytes",
        inodes_worse ? fmt::format("{} inodes", facts.free_inodes) : core::format_binary({free_bytes}));
    if (limits.min_free_bytes && free_bytes < *limits.min_free_bytes)
        return {.status = Status::kFail,
                .value = static_cast<double>(free_bytes),
                .unit = "bytes",
                .limit = static_cast<double>(*limits.min_free_bytes),
                .reason = fmt::format("{} free, {} wanted", core::format_binary({free_bytes}),
                                      core::format_binary({*limits.min_free_bytes}))};
    if (limits.min_free_inodes && facts.inodes > 0 && facts.free_inodes < *limits.min_free_inodes)
        return {
            .status = Status::kFail,
            .value = static_cast<double>(facts.free_inodes),
            .unit = "inodes",
            .limit = static_cast<double>(*limits.min_free_inodes),
            .reason = fmt::format("{} inodes free, {} wanted", facts.free_inodes, *limits.min_free_inodes)};
    if (out.status == Status::kPass && *out.value > limits.warn)
        out.reason +=
            fmt::format("; that is over the {:.0f} % from which it is mentioned", 100 * limits.warn);
    return out;
}

namespace {

// That this user may not look or write there says nothing of the node; a file system that has become
// read-only does.
Outcome failure_outcome(core::Error why) {
    const bool is_refused = why.cause() == core::Cause::kDenied && why.errno_value() != EROFS;
    return is_refused ? error_outcome(std::move(why)) : pass_or_fail(false, std::move(why));
}

}  // namespace

Outcome measure_mount(const Check& check, const NodeView& node) {
    auto text = core::read_file(node.path("/proc/self/mountinfo"), size_t{16} << 20);
    if (!text) return error_outcome(text.error());
    std::string path = *check.get<std::string>("path");
    Outcome out = judge_mount(procfs::parse_mountinfo(*text), path, check.get<std::string>("filesystem"),
                              check.get<bool>("writable").value_or(false));
    if (out.status != Status::kPass) return out;
    // The table lists also mounts whose server is gone: such a one fails here, or never answers and is killed
    // with this process.
    struct statvfs found{};
    if (statvfs(node.path(path).c_str(), &found) == 0) return out;
    const int reason = errno;
    return failure_outcome(core::errno_error(reason, out.reason.text() + ", but does not answer").error());
}

Outcome measure_usage(const Check& check, const NodeView& node) {
    std::string path = *check.get<std::string>("path");
    struct statvfs found{};
    if (statvfs(node.path(path).c_str(), &found) != 0) return error_outcome(core::errno_error(errno, path));
    UsageFacts facts{.block_bytes = found.f_frsize,
                     .blocks = found.f_blocks,
                     .free_blocks = found.f_bfree,
                     .available_blocks = found.f_bavail,
                     .inodes = found.f_files,
                     .free_inodes = found.f_ffree};
    UsageLimits limits{.warn = check.get<double>("warn").value_or(1), .crit = check.get<double>("crit")};
    if (auto bytes = check.get<core::ByteSize>("min_free")) limits.min_free_bytes = bytes->bytes;
    if (auto inodes = check.get<int64_t>("min_free_inodes"))
        limits.min_free_inodes = static_cast<uint64_t>(*inodes);
    return judge_usage(facts, limits);
}

Outcome measure_write(const Check& check, const NodeView& node) {
    std::string path = *check.get<std::string>("path");
    uint64_t size = check.get<core::ByteSize>("size").value_or(core::ByteSize{1 << 20}).bytes;
    auto failed = [&](std::string_view doing, int number) {
        return failure_outcome(core::errno_error(number, fmt::format("{}: cannot {}", path, doing)).error());
    };
    std::string directory = node.path(path).string();
    // A file without a name vanishes also when this process is killed.
    core::Descriptor file(open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        std::string pattern = directory + "/.belay-vet-XXXXXX";
        file = core::Descriptor(mkostemp(pattern.data(), O_CLOEXEC));
        if (file) unlink(pattern.c_str());
    }
    if (!file) return failed("create a file", errno);
    auto start = std::chrono::steady_clock::now();
    std::string block(std::min<uint64_t>(size, uint64_t{1} << 20), 'b');
    for (uint64_t done = 0; done < size;) {
        ssize_t n = write(file.get(), block.data(), std::min<uint64_t>(block.size(), size - done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed(fmt::format("write byte {} of {}", done, size), errno);
        done += static_cast<uint64_t>(n);
    }
    if (fsync(file.get()) != 0 && errno != EINVAL) return failed("sync the file", errno);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    Outcome out = pass_or_fail(true);
    out.value = static_cast<double>(size) / std::max(seconds.count(), 1e-9);
    out.unit = "bytes/s";
    out.reason = fmt::format("wrote and synced {} in {}", core::format_binary({size}),
                             core::format_duration(std::chrono::duration_cast<core::Duration>(seconds)));
    return out;
}

}  // namespace belay::vet
