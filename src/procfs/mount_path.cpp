#include "procfs/mount_path.h"

namespace belay::procfs {

namespace {

// "/b" of "/a/b" below "/a", "" of "/a" itself; nothing for what is not below it.
std::optional<std::string_view> rest_below(std::string_view path, std::string_view root) {
    if (!path.starts_with('/')) return std::nullopt;
    if (root == "/") return path == "/" ? std::string_view() : path;
    if (!path.starts_with(root)) return std::nullopt;
    path.remove_prefix(root.size());
    if (!path.empty() && path.front() != '/') return std::nullopt;
    return path;
}

std::string joined(std::string_view root, std::string_view rest) {
    std::string path(root == "/" && !rest.empty() ? std::string_view() : root);
    return path.append(rest);
}

// On which it lies: of the deepest mount points the last.
const Mount* mount_of(std::string_view path, std::span<const Mount> mounts) {
    const Mount* found = nullptr;
    for (const Mount& mount : mounts)
        if (rest_below(path, mount.mount_point) &&
            (found == nullptr || mount.mount_point.size() >= found->mount_point.size()))
            found = &mount;
    return found;
}

}  // namespace

std::optional<std::string> path_here(std::string_view path, std::span<const Mount> there,
                                     std::span<const Mount> here) {
    const Mount* mount = mount_of(path, there);
    if (mount == nullptr) return std::nullopt;
    const std::string inside = joined(mount->root, *rest_below(path, mount->mount_point));
    for (const Mount& own : here)
        if (own.device == mount->device)
            if (const auto rest = rest_below(inside, own.root)) return joined(own.mount_point, *rest);
    return std::nullopt;
}

}  // namespace belay::procfs
