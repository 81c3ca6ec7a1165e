#include "stage/retention/occupancy.h"

#include <array>
#include <cerrno>

namespace belay::stage {

namespace {

struct Fill {
    double share = 0;
    double all = 0;
};

// CephFS says that 2^64 - 1 inodes are free, some servers of NFS more than there are.
Fill fill_of(uint64_t all, uint64_t free, uint64_t available) {
    if (all == 0 || free > all || available > free) return {};
    const auto used = static_cast<double>(all - free);
    const double whole = used + static_cast<double>(available);
    return whole > 0 ? Fill{used / whole, whole} : Fill{};
}

}  // namespace

Occupancy occupancy_in(const struct statvfs& status) {
    const Fill bytes = fill_of(status.f_blocks, status.f_bfree, status.f_bavail);
    const Fill inodes = fill_of(status.f_files, status.f_ffree, status.f_favail);
    const auto block = static_cast<double>(status.f_frsize);
    return {.bytes_share = bytes.share,
            .inodes_share = inodes.share,
            .bytes = static_cast<uint64_t>(bytes.all * block),
            .inodes = static_cast<uint64_t>(inodes.all)};
}

core::Result<Occupancy> occupancy_of(const core::Directory& root) {
    struct statvfs status{};
    if (fstatvfs(root.fd(), &status) != 0)
        return core::errno_error(errno,
                                 fmt::format("cannot look at the file system of {}", root.path().string()));
    return occupancy_in(status);
}

std::string_view to_text(Pressure pressure) {
    static constexpr std::array<std::string_view, 3> kNames = {"none", "ask", "purge"};
    return kNames[static_cast<size_t>(pressure)];
}

Pressure pressure_of(const RetentionPolicy& policy, const Occupancy& occupancy) {
    if (policy.purge_share && occupancy.share() >= *policy.purge_share) return Pressure::kPurge;
    if (policy.ask_share && occupancy.share() >= *policy.ask_share) return Pressure::kAsk;
    return Pressure::kNone;
}

}  // namespace belay::stage
