#include "subject.h"

#include "core/file.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace belay::fault {

namespace fs = std::filesystem;

namespace {

std::string link_of(const fs::path& path) {
    std::error_code ignored;
    return fs::read_symlink(path, ignored).string();
}

fs::path descriptor_path(pid_t process, int fd) {
    return fs::path("/proc") / std::to_string(process) / "fd" / std::to_string(fd);
}

std::string path_argument(pid_t process, uint64_t address) {
    std::string bytes = memory_of(process, address, PATH_MAX);
    return bytes.substr(0, bytes.find('\0'));
}

// The absolute path of a name that a process uses; of the descriptor, where the name is empty.
fs::path resolved(pid_t process, int directory, const std::string& name) {
    const std::string self = fmt::format("/proc/{}", process);
    if (name.starts_with("/proc/self/")) {
        fs::path path = self + name.substr(std::strlen("/proc/self"));
        return name.starts_with("/proc/self/fd/") ? fs::path(link_of(path)) : path;
    }
    if (name.starts_with('/')) return fs::path(name).lexically_normal();
    fs::path base =
        link_of(directory == AT_FDCWD ? fs::path(self) / "cwd" : descriptor_path(process, directory));
    return name.empty() ? base : (base / name).lexically_normal();
}

bool is_beneath(const Scope& scope, const fs::path& path) {
    return std::ranges::any_of(scope.roots, [&](const fs::path& root) {
        return std::ranges::mismatch(root, path).in1 == root.end();
    });
}

// Pipes and sockets that the whole run shares with us are nobody's work: the standard streams.
bool is_standard_stream(const std::string& link) {
    for (int fd = 0; fd <= 2; ++fd)
        if (link == link_of(descriptor_path(getpid(), fd))) return true;
    return false;
}

bool is_written_file(pid_t process, int fd) {
    struct stat facts;
    if (stat(descriptor_path(process, fd).c_str(), &facts) < 0 || !S_ISREG(facts.st_mode)) return false;
    auto info = core::read_file(fmt::format("/proc/{}/fdinfo/{}", process, fd));
    if (!info) return false;
    size_t flags = info->find("flags:");
    return flags != std::string::npos &&
           (std::stoul(info->substr(flags + 6), nullptr, 8) & O_ACCMODE) != O_RDONLY;
}

Subject file_of(const Scope& scope, const Call& call, const fs::path& path) {
    return {scope.files && is_beneath(scope, path) ? call.files : nullptr, path.string()};
}

Subject descriptor_of(const Scope& scope, pid_t process, const Call& call, int fd) {
    std::string link = link_of(descriptor_path(process, fd));
    if (call.number == SYS_close && !is_written_file(process, fd)) return {};
    if (link.starts_with('/')) return file_of(scope, call, link.substr(0, link.find(" (deleted)")));
    if (is_standard_stream(link)) return {};
    std::string kind = link.substr(0, link.find(':'));
    if (kind == "pipe") return {scope.processes ? call.processes : nullptr, kind};
    if (kind == "socket") return {scope.sockets ? call.sockets : nullptr, kind};
    return {};
}

}  // namespace

std::string memory_of(pid_t process, uint64_t address, size_t length) {
    std::string bytes(length, '\0');
    // Page by page, since what follows the text may not be readable.
    size_t have = 0;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    while (have < length) {
        size_t step = std::min(length - have, page - (address + have) % page);
        iovec local{bytes.data() + have, step};
        iovec remote{reinterpret_cast<void*>(address + have), step};
        if (process_vm_readv(process, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(step)) break;
        have += step;
    }
    bytes.resize(have);
    return bytes;
}

std::string name_of(pid_t process) {
    std::string name = core::read_file(fmt::format("/proc/{}/comm", process)).value_or("");
    return name.substr(0, name.find('\n'));
}

Subject subject_of(const Scope& scope, pid_t process, const Call& call, const Arguments& arguments) {
    auto directory_of = [&](int which) { return which < 0 ? AT_FDCWD : static_cast<int>(arguments[which]); };
    auto path_at = [&](int path, int directory) {
        return resolved(process, directory_of(directory), path_argument(process, arguments[path]));
    };
    switch (call.about) {
        case About::kDescriptor:
            return descriptor_of(scope, process, call, static_cast<int>(arguments[call.path]));
        case About::kPath:
            return file_of(scope, call, path_at(call.path, call.directory));
        case About::kTwoPaths: {
            int next = call.directory < 0 ? -1 : call.path + 1;
            fs::path to = path_at(call.directory < 0 ? call.path + 1 : call.path + 2, next);
            return file_of(scope, call, to);
        }
        case About::kNothing:
            break;
    }
    if (call.number == SYS_execve)
        return {scope.processes ? call.processes : nullptr, path_argument(process, arguments[0])};
    if (call.sockets != nullptr) return {scope.sockets ? call.sockets : nullptr, "socket"};
    return {scope.processes ? call.processes : nullptr, "process"};
}

}  // namespace belay::fault
