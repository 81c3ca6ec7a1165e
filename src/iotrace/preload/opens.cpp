// The calls by which descriptors come and go, and those that change what all of them mean: fork and chdir.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"
#include "iotrace/preload/paths.h"
#include "iotrace/preload/system.h"

#include <cstdarg>
#include <fcntl.h>

namespace belay::iotrace::preload {

namespace {

using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);
BELAY_NEXT Next<Open> next_open("open64");
BELAY_NEXT Next<OpenAt> next_openat("openat64");
BELAY_NEXT Next<int (*)(const char*, int)> next_open_2("__open64_2");
BELAY_NEXT Next<int (*)(int, const char*, int)> next_openat_2("__openat64_2");
BELAY_NEXT Next<int (*)(const char*, mode_t)> next_creat("creat64");
BELAY_NEXT Next<int (*)(int)> next_close("close");
BELAY_NEXT Next<int (*)(int, int)> next_dup2("dup2");
BELAY_NEXT Next<int (*)(int, int, int)> next_dup3("dup3");
BELAY_NEXT Next<int (*)(unsigned, unsigned, int)> next_close_range("close_range");
BELAY_NEXT Next<pid_t (*)()> next_fork("fork");
BELAY_NEXT Next<int (*)(const char*)> next_chdir("chdir");
BELAY_NEXT Next<int (*)(int)> next_fchdir("fchdir");

bool needs_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}
bool is_of_directory(int flags) {
    return (flags & O_DIRECTORY) != 0 && (flags & O_TMPFILE) != O_TMPFILE;
}

mode_t mode_in(int flags, va_list more) {
    return needs_mode(flags) ? va_arg(more, mode_t) : 0;
}

}  // namespace

extern "C" {

int traced_open(const char* path, int flags, ...) INSTEAD_OF("open64");
int traced_open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_in(flags, more);
    va_end(more);
    const auto next = next_open.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const int fd = next(path, flags, mode);
    count_open(watch, AT_FDCWD, path, fd, is_of_directory(flags));
    return fd;
}
int traced_open_plain(const char* path, int flags, ...) ALSO_INSTEAD_OF("open", "open64");

int traced_openat(int directory, const char* path, int flags, ...) INSTEAD_OF("openat64");
int traced_openat(int directory, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_in(flags, more);
    va_end(more);
    const auto next = next_openat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const int fd = next(directory, path, flags, mode);
    count_open(watch, directory, path, fd, is_of_directory(flags));
    return fd;
}
int traced_openat_plain(int directory, const char* path, int flags, ...)
    ALSO_INSTEAD_OF("openat", "openat64");

// Of programs that were compiled with _FORTIFY_SOURCE.
int traced_open_2(const char* path, int flags) INSTEAD_OF("__open64_2");
int traced_open_2(const char* path, int flags) {
    const auto next = next_open_2.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const int fd = next(path, flags);
    count_open(watch, AT_FDCWD, path, fd, is_of_directory(flags));
    return fd;
}
int traced_open_2_plain(const char* path, int flags) ALSO_INSTEAD_OF("__open_2", "__open64_2");

int traced_openat_2(int directory, const char* path, int flags) INSTEAD_OF("__openat64_2");
int traced_openat_2(int directory, const char* path, int flags) {
    const auto next = next_openat_2.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const int fd = next(directory, path, flags);
    count_open(watch, directory, path, fd, is_of_directory(flags));
    return fd;
}
int traced_openat_2_plain(int directory, const char* path, int flags)
    ALSO_INSTEAD_OF("__openat_2", "__openat64_2");

int traced_creat(const char* path, mode_t mode) INSTEAD_OF("creat64");
int traced_creat(const char* path, mode_t mode) {
    const auto next = next_creat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const int fd = next(path, mode);
    count_open(watch, AT_FDCWD, path, fd, false);
    return fd;
}
int traced_creat_plain(const char* path, mode_t mode) ALSO_INSTEAD_OF("creat", "creat64");

int traced_close(int fd) INSTEAD_OF("close");
int traced_close(int fd) {
    const auto next = next_close.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    if (!is_traced()) return next(fd);
    const DescriptorState before = forget(fd);  // first: another thread may get the number at once
    const int result = next(fd);
    count_close(watch, before);
    return result;
}

int traced_dup2(int from, int to) INSTEAD_OF("dup2");
int traced_dup2(int from, int to) {
    const auto next = next_dup2.get();
    if (next == nullptr) return not_there();
    if (from != to) forget(to);
    return next(from, to);
}

int traced_dup3(int from, int to, int flags) INSTEAD_OF("dup3");
int traced_dup3(int from, int to, int flags) {
    const auto next = next_dup3.get();
    if (next == nullptr) return not_there();
    forget(to);
    return next(from, to, flags);
}

// Not in libc before 2.34.
int traced_close_range(unsigned first, unsigned last, int flags) INSTEAD_OF("close_range");
int traced_close_range(unsigned first, unsigned last, int flags) {
    forget_from(first, last);
    if (const auto next = next_close_range.get()) return next(first, last, flags);
#ifdef SYS_close_range
    return static_cast<int>(as_libc_returns(system_call(SYS_close_range, first, last, flags)));
#else
    return not_there();
#endif
}

// The child counts in slots of its own. Where a child is made in another way it shares its parent's, which
// costs time only.
pid_t traced_fork() INSTEAD_OF("fork");
pid_t traced_fork() {
    const auto next = next_fork.get();
    if (next == nullptr) return not_there();
    const pid_t child = next();
    if (child == 0) begin_anew();
    return child;
}

int traced_chdir(const char* path) INSTEAD_OF("chdir");
int traced_chdir(const char* path) {
    const auto next = next_chdir.get();
    if (next == nullptr) return not_there();
    const int result = next(path);
    forget_working_directory();
    return result;
}

int traced_fchdir(int fd) INSTEAD_OF("fchdir");
int traced_fchdir(int fd) {
    const auto next = next_fchdir.get();
    if (next == nullptr) return not_there();
    const int result = next(fd);
    forget_working_directory();
    return result;
}

}  // extern "C"

}  // namespace belay::iotrace::preload
