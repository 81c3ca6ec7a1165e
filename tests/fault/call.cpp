#include "call.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <sys/syscall.h>

namespace belay::fault {

namespace {

constexpr const char* kOpen = "EACCES EMFILE";
constexpr const char* kLook = "EACCES EIO";
constexpr const char* kMake = "EACCES ENOSPC";
constexpr const char* kMove = "EACCES EIO";
constexpr const char* kOut = "ENOSPC EIO";
constexpr const char* kFull = "EMFILE";

using enum About;

const std::vector<Call> kCalls = {
// Names: aarch64 has only those that take a directory.
#ifdef SYS_open
    {SYS_open, "open", kPath, 0, -1, kOpen},
    {SYS_creat, "creat", kPath, 0, -1, kMake},
    {SYS_stat, "stat", kPath, 0, -1, kLook},
    {SYS_lstat, "lstat", kPath, 0, -1, kLook},
    {SYS_access, "access", kPath, 0, -1, kLook},
    {SYS_readlink, "readlink", kPath, 0, -1, kLook},
    {SYS_mkdir, "mkdir", kPath, 0, -1, kMake},
    {SYS_rmdir, "rmdir", kPath, 0, -1, kMove},
    {SYS_unlink, "unlink", kPath, 0, -1, kMove},
    {SYS_symlink, "symlink", kPath, 1, -1, kMake},
    {SYS_chmod, "chmod", kPath, 0, -1, "EPERM"},
    {SYS_chown, "chown", kPath, 0, -1, "EPERM"},
    {SYS_rename, "rename", kTwoPaths, 0, -1, kMove},
    {SYS_link, "link", kTwoPaths, 0, -1, "EPERM ENOSPC"},
    {SYS_getdents, "getdents", kDescriptor, 0, -1, "EIO"},
    {SYS_fork, "fork", kNothing, 0, -1, nullptr, "EAGAIN"},
    {SYS_vfork, "vfork", kNothing, 0, -1, nullptr, "EAGAIN"},
    {SYS_pipe, "pipe", kNothing, 0, -1, nullptr, kFull},
    {SYS_dup2, "dup2", kDescriptor, 0, -1, nullptr, "EBUSY", "EBUSY"},
    {SYS_poll, "poll", kNothing, 0, -1, nullptr, "EINTR"},
    {SYS_epoll_wait, "epoll_wait", kNothing, 0, -1, nullptr, "EINTR"},
#endif
    {SYS_openat, "openat", kPath, 1, 0, kOpen},
    {SYS_openat2, "openat2", kPath, 1, 0, kOpen},
    {SYS_newfstatat, "newfstatat", kPath, 1, 0, kLook},
    {SYS_statx, "statx", kPath, 1, 0, kLook},
    {SYS_faccessat, "faccessat", kPath, 1, 0, kLook},
    {SYS_faccessat2, "faccessat2", kPath, 1, 0, kLook},
    {SYS_readlinkat, "readlinkat", kPath, 1, 0, kLook},
    {SYS_mkdirat, "mkdirat", kPath, 1, 0, kMake},
    {SYS_unlinkat, "unlinkat", kPath, 1, 0, kMove},
    {SYS_symlinkat, "symlinkat", kPath, 2, 1, kMake},
    {SYS_fchmodat, "fchmodat", kPath, 1, 0, "EPERM"},
    {SYS_fchownat, "fchownat", kPath, 1, 0, "EPERM"},
    {SYS_utimensat, "utimensat", kPath, 1, 0, "EPERM"},
    {SYS_renameat, "renameat", kTwoPaths, 1, 0, kMove},
    {SYS_renameat2, "renameat2", kTwoPaths, 1, 0, kMove},
    {SYS_linkat, "linkat", kTwoPaths, 1, 0, "EPERM ENOSPC"},
    {SYS_statfs, "statfs", kPath, 0, -1, "EIO"},
    {SYS_truncate, "truncate", kPath, 0, -1, "ENOSPC"},
    {SYS_mount, "mount", kPath, 1, -1, "EPERM"},
    {SYS_chdir, "chdir", kPath, 0, -1, kLook},

    // What is open. A pipe or socket breaks because its other end has gone.
    {SYS_read, "read", kDescriptor, 0, -1, "EIO SHORT", "EINTR", "ECONNRESET"},
    {SYS_pread64, "pread64", kDescriptor, 0, -1, "EIO SHORT"},
    {SYS_readv, "readv", kDescriptor, 0, -1, "EIO", "EINTR", "ECONNRESET"},
    {SYS_preadv, "preadv", kDescriptor, 0, -1, "EIO"},
    {SYS_write, "write", kDescriptor, 0, -1, "ENOSPC EDQUOT EIO SHORT", "EPIPE EINTR", "EPIPE"},
    {SYS_pwrite64, "pwrite64", kDescriptor, 0, -1, "ENOSPC EDQUOT EIO SHORT"},
    {SYS_writev, "writev", kDescriptor, 0, -1, kOut, "EPIPE EINTR", "EPIPE"},
    {SYS_pwritev, "pwritev", kDescriptor, 0, -1, kOut},
    {SYS_sendfile, "sendfile", kDescriptor, 0, -1, kOut},
    {SYS_copy_file_range, "copy_file_range", kDescriptor, 2, -1, kOut},
    {SYS_fsync, "fsync", kDescriptor, 0, -1, "EIO"},
    {SYS_fdatasync, "fdatasync", kDescriptor, 0, -1, "EIO"},
    {SYS_sync_file_range, "sync_file_range", kDescriptor, 0, -1, "EIO"},
    {SYS_ftruncate, "ftruncate", kDescriptor, 0, -1, "ENOSPC"},
    {SYS_fallocate, "fallocate", kDescriptor, 0, -1, "ENOSPC"},
    {SYS_fchmod, "fchmod", kDescriptor, 0, -1, "EPERM"},
    {SYS_fchown, "fchown", kDescriptor, 0, -1, "EPERM"},
    {SYS_fstat, "fstat", kDescriptor, 0, -1, "EIO"},
    {SYS_fstatfs, "fstatfs", kDescriptor, 0, -1, "EIO"},
    {SYS_getdents64, "getdents64", kDescriptor, 0, -1, "EIO"},
    {SYS_flock, "flock", kDescriptor, 0, -1, "ENOLCK"},
    {SYS_fcntl, "fcntl", kDescriptor, 0, -1, "ENOLCK", kFull, kFull},
    {SYS_mmap, "mmap", kDescriptor, 4, -1, "ENODEV"},
    {SYS_close, "close", kDescriptor, 0, -1, "EIO"},
    {SYS_fchdir, "fchdir", kDescriptor, 0, -1, "EACCES"},
    {SYS_dup, "dup", kDescriptor, 0, -1, kFull, kFull, kFull},
    {SYS_dup3, "dup3", kDescriptor, 0, -1, nullptr, "EBUSY", "EBUSY"},

    // Processes, and what they are held by.
    {SYS_clone, "clone", kNothing, 0, -1, nullptr, "EAGAIN"},
    {SYS_clone3, "clone3", kNothing, 0, -1, nullptr, "EAGAIN"},
    {SYS_execve, "execve", kNothing, 0, -1, nullptr, "EACCES ENOMEM"},
    {SYS_waitid, "waitid", kNothing, 0, -1, nullptr, "EINTR"},
    {SYS_wait4, "wait4", kNothing, 0, -1, nullptr, "EINTR"},
    {SYS_pidfd_open, "pidfd_open", kNothing, 0, -1, nullptr, kFull},
    {SYS_pipe2, "pipe2", kNothing, 0, -1, nullptr, kFull},
    {SYS_eventfd2, "eventfd2", kNothing, 0, -1, nullptr, kFull},
    {SYS_timerfd_create, "timerfd_create", kNothing, 0, -1, nullptr, kFull},
    {SYS_signalfd4, "signalfd4", kNothing, 0, -1, nullptr, kFull},
    {SYS_epoll_create1, "epoll_create1", kNothing, 0, -1, nullptr, kFull},
    {SYS_inotify_init1, "inotify_init1", kNothing, 0, -1, nullptr, kFull},
    {SYS_memfd_create, "memfd_create", kNothing, 0, -1, nullptr, kFull},
    {SYS_ppoll, "ppoll", kNothing, 0, -1, nullptr, "EINTR"},
    {SYS_epoll_pwait, "epoll_pwait", kNothing, 0, -1, nullptr, "EINTR"},
    {SYS_unshare, "unshare", kNothing, 0, -1, nullptr, "EPERM ENOSPC"},
    {SYS_setns, "setns", kNothing, 0, -1, nullptr, "EPERM"},
    {SYS_pivot_root, "pivot_root", kNothing, 0, -1, nullptr, "EPERM"},
    {SYS_setsid, "setsid", kNothing, 0, -1, nullptr, "EPERM"},
    {SYS_getrandom, "getrandom", kNothing, 0, -1, nullptr, "ENOSYS"},

    {SYS_socket, "socket", kNothing, 0, -1, nullptr, nullptr, kFull},
    {SYS_socketpair, "socketpair", kNothing, 0, -1, nullptr, nullptr, kFull},
    {SYS_connect, "connect", kNothing, 0, -1, nullptr, nullptr, "ECONNREFUSED ETIMEDOUT"},
    {SYS_bind, "bind", kNothing, 0, -1, nullptr, nullptr, "EADDRINUSE"},
    {SYS_listen, "listen", kNothing, 0, -1, nullptr, nullptr, "EADDRINUSE"},
    {SYS_accept4, "accept4", kNothing, 0, -1, nullptr, nullptr, "EMFILE ECONNABORTED"},
    {SYS_sendto, "sendto", kNothing, 0, -1, nullptr, nullptr, "ECONNRESET"},
    {SYS_sendmsg, "sendmsg", kNothing, 0, -1, nullptr, nullptr, "ECONNRESET ETOOMANYREFS"},
    {SYS_recvfrom, "recvfrom", kNothing, 0, -1, nullptr, nullptr, "ECONNRESET"},
    {SYS_recvmsg, "recvmsg", kNothing, 0, -1, nullptr, nullptr, "ECONNRESET"},
    {SYS_setsockopt, "setsockopt", kNothing, 0, -1, nullptr, nullptr, "ENOMEM"},
    {SYS_getsockopt, "getsockopt", kNothing, 0, -1, nullptr, nullptr, "ENOBUFS"},
};

bool locks(uint64_t command) {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

bool duplicates(uint64_t command) {
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

// O_CREAT in the flags of those that open; openat2 keeps them in memory, and nothing here creates with it
// alone.
bool creates(const Call& call, const Arguments& arguments) {
    std::string_view name = call.name;
    if (name == "open") return (arguments[1] & O_CREAT) != 0;
    return name == "openat" && (arguments[2] & O_CREAT) != 0;
}

}  // namespace

const std::vector<Call>& calls() {
    return kCalls;
}

const Call* call_of(int number) {
    auto found = std::ranges::find(kCalls, number, &Call::number);
    return found != kCalls.end() ? &*found : nullptr;
}

bool is_harmless(const Call& call, const Arguments& arguments) {
    if (call.number == SYS_fcntl) return !locks(arguments[1]) && !duplicates(arguments[1]);
    if (call.number == SYS_clone || call.number == SYS_clone3) return (arguments[0] & CLONE_THREAD) != 0;
    return call.number == SYS_mmap && static_cast<int>(arguments[4]) < 0;
}

std::vector<std::string> errors_of(const Call& call, const Arguments& arguments, const char* list) {
    if (call.number == SYS_fcntl && duplicates(arguments[1])) list = kFull;
    std::istringstream names(list);
    std::vector<std::string> errors(std::istream_iterator<std::string>(names), {});
    if (creates(call, arguments)) errors.insert(errors.end(), {"ENOSPC", "EDQUOT"});
    return errors;
}

int errno_of(std::string_view name) {
    for (int error = 1; error < 200; ++error)
        if (const char* known = strerrorname_np(error); known != nullptr && name == known) return error;
    return 0;
}

}  // namespace belay::fault
