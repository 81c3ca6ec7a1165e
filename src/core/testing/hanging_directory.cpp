#include "core/testing/hanging_directory.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace belay::core::testing {

namespace {

Result<> enter_own_mounts() {
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return errno_error(errno, "cannot make a mount namespace");
    if (uid != 0) {
        auto put = [](const char* path, std::string_view text) -> Result<> {
            BELAY_TRY(file, open_file(path, O_WRONLY));
            return write_all(file.get(), text, path);
        };
        BELAY_CHECK(put("/proc/self/setgroups", "deny"));
        BELAY_CHECK(put("/proc/self/uid_map", fmt::format("0 {} 1", uid)));
        BELAY_CHECK(put("/proc/self/gid_map", fmt::format("0 {} 1", gid)));
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0)
        return errno_error(errno, "cannot make the mounts private");
    return {};
}

}  // namespace

Result<std::unique_ptr<HangingDirectory>> HangingDirectory::mount(std::vector<std::string> options) {
    BELAY_CHECK(enter_own_mounts());
    BELAY_TRY(directory, TemporaryDirectory::create("belay-hanging"));
    std::filesystem::path source = directory.path() / "source";
    std::filesystem::path shown = directory.path() / "shown";
    BELAY_CHECK(make_directories(source));
    BELAY_CHECK(make_directories(shown));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return errno_error(errno, "cannot make a pipe");
    Descriptor output(ends[0]);
    Descriptor input(ends[1]);
    Command command{.argv = {BELAY_HANG_FS, "--log", directory.path() / "held"}, .stdout_fd = input.get()};
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.argv.insert(command.argv.end(), {source, shown});
    command.parent_death_signal = SIGKILL;
    BELAY_TRY(server, spawn(command));
    input.reset();
    char first = 0;
    if (read(output.get(), &first, 1) != 1)  // "ready", or its end
        return system_error("hang_fs did not mount {}", shown.string());
    return std::unique_ptr<HangingDirectory>(new HangingDirectory(std::move(directory), std::move(server)));
}

void HangingDirectory::let_go() {
    (void)server_.stop(std::chrono::seconds(5));
    umount2(path().c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);  // where it was killed; otherwise it has done so
}

HangingDirectory::~HangingDirectory() {
    let_go();
}

std::string HangingDirectory::held() const {
    return read_file(directory_.path() / "held").value_or("");
}

}  // namespace belay::core::testing
