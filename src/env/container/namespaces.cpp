#include "env/container/namespaces.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "env/container/holder_link.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace belay::env {

using core::Descriptor;
using core::errno_error;
using core::Result;
namespace fs = std::filesystem;

namespace {

// Directories that every Linux has, or nearly, and no job reads: what is mounted over one hides nothing that
// is missed.
constexpr std::array kCovered = {"/run/belay", "/sys/kernel/debug", "/sys/kernel/tracing", "/media", "/mnt"};

Result<> write_own(const char* file, std::string_view text) {
    BELAY_TRY(fd, core::open_file(file, O_WRONLY));
    return core::write_all(fd.get(), text, file);
}

Result<> mount_on(const char* source, const fs::path& target, const char* type, unsigned long flags,
                  const std::string& data) {
    if (mount(source, target.c_str(), type, flags, data.c_str()) == 0) return {};
    return errno_error(
        errno, fmt::format("cannot mount {} on {}", type != nullptr ? type : source, target.string()));
}

bool is_fuse(const fs::path& target) {
    struct statfs facts{};
    return statfs(target.c_str(), &facts) == 0 && facts.f_type == FUSE_SUPER_MAGIC;
}

std::string all_of(int fd) {
    std::string text;
    (void)core::reread(fd, text, "messages");
    return std::string(core::trim(text));
}

}  // namespace

core::Environment own_programs_environment() {
    return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"LC_ALL", "C.UTF-8"}};
}

Result<Identity> enter_own_namespaces() {
    Identity identity{geteuid(), getegid()};
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) != 0) {
        int error = errno;
        core::Failure failure = errno_error(error, "cannot make a user namespace for the container");
        return std::move(failure).hint(
            error == ENOSPC ? "the site's limit is reached: sysctl user.max_user_namespaces"
                            : "the site must allow user namespaces: sysctl user.max_user_namespaces, "
                              "kernel.unprivileged_userns_clone; a process under chroot cannot have one");
    }
    BELAY_CHECK(write_own("/proc/self/setgroups", "deny"));
    BELAY_CHECK(write_own("/proc/self/uid_map", fmt::format("0 {} 1", identity.user)));
    BELAY_CHECK(write_own("/proc/self/gid_map", fmt::format("0 {} 1", identity.group)));
    BELAY_CHECK(mount_on("none", "/", nullptr, MS_REC | MS_SLAVE, ""));
    return identity;
}

Result<fs::path> mount_scratch(core::ByteSize size) {
    Descriptor system(open_tree(AT_FDCWD, "/sys", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (!system) return errno_error(errno, "cannot copy the mount of /sys");
    for (const char* covered : kCovered) {
        std::error_code ignored;
        if (!fs::is_directory(covered, ignored)) continue;
        BELAY_CHECK(mount_on("belay", covered, "tmpfs", MS_NOSUID | MS_NODEV,
                             fmt::format("mode=0755,size={}", size.bytes)));
        fs::path scratch = covered;
        BELAY_CHECK(core::make_directories(scratch / "sys"));
        if (move_mount(system.get(), "", AT_FDCWD, (scratch / "sys").c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
            return errno_error(errno, "cannot move the mount of /sys");
        return scratch;
    }
    return core::system_error("no place to mount the container's files: none of {} exists",
                              fmt::join(kCovered, ", "))
        .hint("create /run/belay");
}

Result<core::Process> mount_squashfs(const fs::path& image, const fs::path& target) {
    BELAY_CHECK(core::make_directories(target));
    Descriptor messages(memfd_create("squashfuse", MFD_CLOEXEC));
    BELAY_TRY(quiet, core::open_file("/dev/null", O_RDWR));
    BELAY_TRY(program, core::find_program("squashfuse_ll", own_programs_environment().at("PATH")));
    BELAY_TRY(server, core::spawn({.argv = {program.string(), "-f", image.string(), target.string()},
                                   .environment = own_programs_environment(),
                                   .stdin_fd = quiet.get(),
                                   .stdout_fd = messages.get(),
                                   .stderr_fd = messages.get(),
                                   .new_session = true,
                                   .parent_death_signal = SIGKILL}));
    core::note_activity("mount", image.native());
    const auto deadline = core::Deadline::after(kHolderTimes.file);
    while (!is_fuse(target)) {
        BELAY_TRY(ended, server.wait_for(std::chrono::microseconds(200)));
        if (ended) {
            std::string said = all_of(messages.get());
            auto failure = core::system_error("cannot mount the image {}: {}", image.string(),
                                              said.empty() ? ended->describe() : core::printable(said));
            if (access("/dev/fuse", R_OK | W_OK) != 0)
                failure =
                    std::move(failure).hint("users need to read and write /dev/fuse: chmod 0666 /dev/fuse");
            return failure;
        }
        if (deadline.is_over())
            return core::system_error("cannot mount the image {}: no answer within {} s", image.string(),
                                      core::to_seconds(kHolderTimes.file))
                .because(core::Cause::kTimedOut);
    }
    return server;
}

Result<> mount_overlay(const fs::path& lower, const fs::path& upper, const fs::path& work,
                       const fs::path& target) {
    for (const fs::path& directory : {upper, work, target}) BELAY_CHECK(core::make_directories(directory));
    return mount_on("overlay", target, "overlay", MS_NOSUID | MS_NODEV,
                    fmt::format("lowerdir={},upperdir={},workdir={},userxattr", lower.string(),
                                upper.string(), work.string()));
}

Result<> show_one_cgroup_version() {
    std::error_code ignored;
    if (!fs::is_directory("/sys/fs/cgroup", ignored)) return {};
    return mount_on("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
}

}  // namespace belay::env
