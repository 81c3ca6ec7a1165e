#include "observe/collect/watched_mounts.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace belay::observe::collect {

namespace {

using procfs::Mount;

// File systems that hold no data, and autofs, which a mere look would mount.
constexpr std::string_view kPseudoTypes[] = {
    "autofs",     "binfmt_misc", "bpf",        "cgroup",    "cgroup2",  "configfs",
    "cpuset",     "debugfs",     "devpts",     "devtmpfs",  "efivarfs", "fuse.gvfsd-fuse",
    "fuse.lxcfs", "fuse.portal", "fusectl",    "hugetlbfs", "mqueue",   "nfsd",
    "nsfs",       "pipefs",      "proc",       "pstore",    "ramfs",    "resctrl",
    "rootfs",     "rpc_pipefs",  "securityfs", "selinuxfs", "smackfs",  "sockfs",
    "sysfs",      "tracefs",
};

// What is mounted there belongs to the kernel's own trees, such as the tmpfs that holds the cgroup
// hierarchies.
bool is_in_kernel_tree(std::string_view mount_point) {
    return mount_point.starts_with("/proc/") || mount_point.starts_with("/sys/");
}

// A device or an export names one file system; "tmpfs" or "overlay" is merely a word.
bool names_one_file_system(std::string_view source) {
    return source.find('/') != std::string_view::npos;
}

}  // namespace

bool holds_data(const Mount& mount) {
    return std::ranges::find(kPseudoTypes, mount.type) == std::end(kPseudoTypes) &&
           !is_in_kernel_tree(mount.mount_point);
}

std::vector<Mount> mounts_to_watch(std::vector<Mount> mounts, size_t limit) {
    // The last mount at a place hides the earlier ones there.
    std::set<std::string> places;
    std::vector<bool> visible(mounts.size());
    for (size_t i = mounts.size(); i-- > 0;) visible[i] = places.insert(mounts[i].mount_point).second;

    std::set<std::pair<std::string, std::string>> seen;
    std::vector<Mount> watched;
    for (size_t i = 0; i < mounts.size() && watched.size() < limit; ++i) {
        Mount& mount = mounts[i];
        if (!visible[i] || !holds_data(mount)) continue;
        bool first = seen.insert({"device", mount.device}).second;
        if (names_one_file_system(mount.source)) first &= seen.insert({mount.type, mount.source}).second;
        if (first) watched.push_back(std::move(mount));
    }
    return watched;
}

}  // namespace belay::observe::collect
