#include "env/container/mount_flags.h"

#include "core/file.h"
#include "core/work.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace belay::env {

using core::Result;

namespace {

struct FlagName {
    std::string_view option;
    unsigned long flag;  // of struct statvfs
    uint64_t attribute;  // of mount_setattr(2)
};
constexpr FlagName kFlagNames[] = {
    {"ro", ST_RDONLY, MOUNT_ATTR_RDONLY},
    {"noexec", ST_NOEXEC, MOUNT_ATTR_NOEXEC},
    {"nosuid", ST_NOSUID, MOUNT_ATTR_NOSUID},
    {"nodev", ST_NODEV, MOUNT_ATTR_NODEV},
};

const FlagName* find_flag(std::string_view option) {
    for (const FlagName& each : kFlagNames)
        if (option == each.option || (option.starts_with('r') && option.substr(1) == each.option))
            return &each;
    return nullptr;
}

std::string names_of(unsigned long flags) {
    std::string names;
    for (const FlagName& each : kFlagNames)
        if ((flags & each.flag) != 0) names += fmt::format("{}{}", names.empty() ? "" : "+", each.option);
    return names;
}

Result<unsigned long> flags_there(const std::string& destination) {
    struct statvfs facts{};
    if (statvfs(destination.c_str(), &facts) != 0)
        return core::errno_error(errno, fmt::format("cannot look at the mount on {}", destination));
    return facts.f_flag;
}

Result<> set_missing(const MountFlags& wanted) {
    BELAY_TRY(before, flags_there(wanted.destination));
    const unsigned long missing = wanted.flags & ~before;
    if (missing == 0) return {};
    mount_attr attributes{};
    for (const FlagName& each : kFlagNames)
        if ((missing & each.flag) != 0) attributes.attr_set |= each.attribute;
    if (mount_setattr(AT_FDCWD, wanted.destination.c_str(), 0, &attributes, sizeof attributes) != 0)
        return core::errno_error(
            errno, fmt::format("cannot make the mount on {} {}", wanted.destination, names_of(missing)));
    BELAY_TRY(after, flags_there(wanted.destination));
    if ((wanted.flags & ~after) == 0) return {};
    return core::system_error("the mount on {} is not {}", wanted.destination,
                              names_of(wanted.flags & ~after));
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

void take_flags_of_files(std::vector<Bind>& binds) {
    for (Bind& bind : binds) {
        struct stat status{};
        core::note_activity("look at", bind.source);
        if (bind.squashfs || stat(bind.source.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
        std::erase_if(bind.options, [](const std::string& option) { return find_flag(option) != nullptr; });
    }
}

Result<> set_mount_flags(pid_t init, const std::vector<MountFlags>& wanted) {
    return core::check_within(std::chrono::seconds(10), {.what = "looking at the container's mounts"},
                              [&]() -> Result<> {
                                  BELAY_CHECK(join(init));
                                  for (const MountFlags& each : wanted) BELAY_CHECK(set_missing(each));
                                  return {};
                              });
}

}  // namespace belay::env
