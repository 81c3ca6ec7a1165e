#include "env/container/mount_flags.h"

#include "core/file.h"
#include "core/work.h"
#include "procfs/mountinfo.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <sys/mount.h>

namespace belay::env {

using core::Result;

namespace {

struct FlagName {
    std::string_view option;
    uint64_t flag;
};
constexpr FlagName kFlagNames[] = {
    {"ro", MOUNT_ATTR_RDONLY},
    {"noexec", MOUNT_ATTR_NOEXEC},
    {"nosuid", MOUNT_ATTR_NOSUID},
    {"nodev", MOUNT_ATTR_NODEV},
};

const FlagName* find_flag(std::string_view option) {
    for (const FlagName& each : kFlagNames)
        if (option == each.option || (option.starts_with('r') && option.substr(1) == each.option))
            return &each;
    return nullptr;
}

std::string names_of(uint64_t flags) {
    std::string names;
    for (const FlagName& each : kFlagNames)
        if ((flags & each.flag) != 0) names += fmt::format("{}{}", names.empty() ? "" : "+", each.option);
    return names;
}

// Those of `wanted` that the mount on the open directory or file does not have.
Result<uint64_t> missing_flags(int mounted, const MountFlags& wanted) {
    std::error_code error;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", mounted), error);
    if (error) return core::errno_error(error, fmt::format("cannot tell what {} is", wanted.destination));
    BELAY_TRY(text, core::read_file("/proc/self/mountinfo"));
    const auto mounts = procfs::parse_mountinfo(text);
    const procfs::Mount* mount = procfs::mounted_on(mounts, path.native());
    if (mount == nullptr) return core::system_error("nothing is mounted on {}", wanted.destination);
    uint64_t missing = 0;
    for (const FlagName& each : kFlagNames)
        if ((wanted.flags & each.flag) != 0 && !procfs::has_option(mount->options, each.option))
            missing |= each.flag;
    return missing;
}

Result<> set_missing(const MountFlags& wanted) {
    if (wanted.flags == 0) return {};
    BELAY_TRY(mounted, core::open_file(wanted.destination, O_PATH));
    BELAY_TRY(missing, missing_flags(mounted.get(), wanted));
    if (missing == 0) return {};
    mount_attr attributes{};
    attributes.attr_set = missing;
    if (mount_setattr(mounted.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
        return core::errno_error(
            errno, fmt::format("cannot make the mount on {} {}", wanted.destination, names_of(missing)));
    BELAY_TRY(still, missing_flags(mounted.get(), wanted));
    if (still == 0) return {};
    return core::system_error("the mount on {} is not {}", wanted.destination, names_of(still));
}

// Both are opened first: in the user namespace the other may not be any more.
Result<> join(pid_t init) {
    BELAY_TRY(user, core::open_file(fmt::format("/proc/{}/ns/user", init), O_RDONLY));
    BELAY_TRY(mounts, core::open_file(fmt::format("/proc/{}/ns/mnt", init), O_RDONLY));
    if (setns(user.get(), CLONE_NEWUSER) != 0 || setns(mounts.get(), CLONE_NEWNS) != 0)
        return core::errno_error(errno, "cannot join the container to look at its mounts");
    return {};
}

}  // namespace

bool is_mount_flag(std::string_view option) {
    return find_flag(option) != nullptr;
}

std::vector<MountFlags> flags_of(const std::vector<Bind>& binds) {
    std::vector<MountFlags> all;
    for (const Bind& bind : binds) {
        MountFlags wanted{.destination = bind.destination, .flags = 0};
        for (const std::string& option : bind.options)
            if (const FlagName* flag = find_flag(option)) wanted.flags |= flag->flag;
        std::erase_if(all, [&](const MountFlags& each) { return each.destination == bind.destination; });
        all.push_back(std::move(wanted));
    }
    return all;
}

Result<> set_mount_flags(pid_t init, const std::vector<MountFlags>& wanted, core::Duration allowed) {
    return core::check_within(allowed, {.what = "looking at the container's mounts"}, [&]() -> Result<> {
        BELAY_CHECK(join(init));
        for (const MountFlags& each : wanted) BELAY_CHECK(set_missing(each));
        return {};
    });
}

}  // namespace belay::env
