#include "stage/space/space.h"

#include "core/units.h"
#include "stage/space/memory_room.h"
#include "stage/space/reserve.h"

#include <cerrno>
#include <optional>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kQuotaBlock = 1024;  // QIF_DQBLKSIZE

std::string size(uint64_t bytes) {
    return core::format_binary(core::ByteSize{bytes});
}

uint64_t without_reserve(uint64_t value) {
    return value - static_cast<uint64_t>(kReservedShare * static_cast<double>(value));
}

std::optional<dqblk> quota_of(int directory, int type, uint32_t id) {
#ifdef SYS_quotactl_fd
    dqblk quota{};
    if (syscall(SYS_quotactl_fd, directory, QCMD(Q_GETQUOTA, type), id, &quota) == 0) return quota;
#else
    (void)directory, (void)type, (void)id;
#endif
    return std::nullopt;
}

uint64_t rest(uint64_t limit, uint64_t used) {
    return limit > used ? limit - used : 0;
}

Result<> check_quota(const core::Directory& directory, const Need& need, int type, uint32_t id,
                     std::string_view whose) {
    const auto quota = quota_of(directory.fd(), type, id);
    if (!quota) return {};
    auto no_space = [&](std::string_view what) {
        return core::system_error("{}: {}", directory.path().string(), what)
            .because(core::Cause::kNoSpace)
            .hint("ask for a larger quota, remove what is not needed, or name another directory");
    };
    if (quota->dqb_bhardlimit > 0)
        if (const uint64_t left = rest(quota->dqb_bhardlimit * kQuotaBlock, quota->dqb_curspace);
            need.bytes > left)
            return no_space(
                fmt::format("{} are needed, the quota of {} leaves {}", size(need.bytes), whose, size(left)));
    if (quota->dqb_ihardlimit > 0)
        if (const uint64_t left = rest(quota->dqb_ihardlimit, quota->dqb_curinodes); need.files > left)
            return no_space(
                fmt::format("{} files are needed, the quota of {} leaves {}", need.files, whose, left));
    return {};
}

Result<> check_memory(const core::Directory& directory, const Need& need) {
    if (!is_in_memory(directory)) return {};
    BELAY_TRY(room, memory_room());
    const auto budget = static_cast<uint64_t>(need.memory_share * static_cast<double>(room.limit));
    if (need.bytes <= rest(budget, room.held)) return {};
    return core::system_error(
               "{}: {} are needed, and files there take memory: of the {} of {}, they may have {}, and {} "
               "are taken",
               directory.path().string(), size(need.bytes), size(room.limit), room.of, size(budget),
               size(room.held))
        .because(core::Cause::kNoSpace)
        .hint("ask for more memory, name a directory on a disk, or raise the setting stage.memory_share");
}

}  // namespace

Result<double> memory_share_of(const core::Configuration& configuration) {
    const double share = configuration.number("stage.memory_share");
    if (share > 0 && share <= 1) return share;
    return core::bad_input("{}: {} is not a share of the memory", configuration.origin("stage.memory_share"),
                           share)
        .hint("stage.memory_share is more than 0 and at most 1");
}

Result<> check_space(const core::Directory& directory, const Need& need) {
    struct statvfs status{};
    if (fstatvfs(directory.fd(), &status) != 0)
        return core::errno_error(
            errno, fmt::format("cannot look at the file system of {}", directory.path().string()));
    const uint64_t free_bytes = without_reserve(uint64_t{status.f_bavail} * status.f_frsize);
    if (need.bytes > free_bytes)
        return core::system_error("{}: {} are needed, {} are free, of which a tenth stays free",
                                  directory.path().string(), size(need.bytes),
                                  size(uint64_t{status.f_bavail} * status.f_frsize))
            .because(core::Cause::kNoSpace)
            .hint("name a directory on another file system, or make room");
    // File systems that make inodes as they need them state none.
    if (status.f_files > 0 && need.files > without_reserve(status.f_favail))
        return core::system_error("{}: {} files are needed, {} more can be made there",
                                  directory.path().string(), need.files, status.f_favail)
            .because(core::Cause::kNoSpace)
            .hint("name a directory on another file system, or remove files");
    BELAY_CHECK(check_memory(directory, need));
    BELAY_CHECK(check_quota(directory, need, USRQUOTA, geteuid(), "this user"));
    struct stat facts{};
    const bool is_inherited = fstat(directory.fd(), &facts) == 0 && (facts.st_mode & S_ISGID) != 0;
    return check_quota(directory, need, GRPQUOTA, is_inherited ? facts.st_gid : getegid(), "this group");
}

}  // namespace belay::stage
