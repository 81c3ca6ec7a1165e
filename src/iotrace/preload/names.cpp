// The calls by a name of which nothing needs to be known but that they were made: each is counted for the
// device of the directory in which the name stands.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"
#include "iotrace/preload/system.h"

#include <cstddef>
#include <fcntl.h>
#include <sys/types.h>

namespace belay::iotrace::preload {

namespace {

// `directory` and `path` are those to count by; the others go on to libc as they came.
template <typename Result, typename... Arguments>
Result counted(Counter counter, Next<Result (*)(Arguments...)>& next, int directory, const char* path,
               Arguments... arguments) {
    const auto function = next.get();
    if (function == nullptr) return not_there();
    const Stopwatch watch;
    const Result result = function(arguments...);
    count_by_name(watch, directory, path, counter, result < 0);
    return result;
}

BELAY_NEXT Next<int (*)(const char*, int)> next_access("access");
BELAY_NEXT Next<int (*)(int, const char*, int, int)> next_faccessat("faccessat");
BELAY_NEXT Next<ssize_t (*)(const char*, char*, size_t)> next_readlink("readlink");
BELAY_NEXT Next<ssize_t (*)(int, const char*, char*, size_t)> next_readlinkat("readlinkat");
BELAY_NEXT Next<int (*)(const char*)> next_unlink("unlink");
BELAY_NEXT Next<int (*)(int, const char*, int)> next_unlinkat("unlinkat");
BELAY_NEXT Next<int (*)(const char*)> next_rmdir("rmdir");
BELAY_NEXT Next<int (*)(const char*, mode_t)> next_mkdir("mkdir");
BELAY_NEXT Next<int (*)(int, const char*, mode_t)> next_mkdirat("mkdirat");
BELAY_NEXT Next<int (*)(const char*, const char*)> next_rename("rename");
BELAY_NEXT Next<int (*)(int, const char*, int, const char*)> next_renameat("renameat");
BELAY_NEXT Next<int (*)(int, const char*, int, const char*, unsigned)> next_renameat2("renameat2");

}  // namespace

extern "C" {

int traced_access(const char* path, int mode) INSTEAD_OF("access");
int traced_access(const char* path, int mode) {
    return counted(kStats, next_access, AT_FDCWD, path, path, mode);
}

int traced_faccessat(int directory, const char* path, int mode, int flags) INSTEAD_OF("faccessat");
int traced_faccessat(int directory, const char* path, int mode, int flags) {
    return counted(kStats, next_faccessat, directory, path, directory, path, mode, flags);
}

ssize_t traced_readlink(const char* path, char* to, size_t size) INSTEAD_OF("readlink");
ssize_t traced_readlink(const char* path, char* to, size_t size) {
    return counted(kStats, next_readlink, AT_FDCWD, path, path, to, size);
}

ssize_t traced_readlinkat(int directory, const char* path, char* to, size_t size) INSTEAD_OF("readlinkat");
ssize_t traced_readlinkat(int directory, const char* path, char* to, size_t size) {
    return counted(kStats, next_readlinkat, directory, path, directory, path, to, size);
}

int traced_unlink(const char* path) INSTEAD_OF("unlink");
int traced_unlink(const char* path) {
    return counted(kChanges, next_unlink, AT_FDCWD, path, path);
}

int traced_unlinkat(int directory, const char* path, int flags) INSTEAD_OF("unlinkat");
int traced_unlinkat(int directory, const char* path, int flags) {
    return counted(kChanges, next_unlinkat, directory, path, directory, path, flags);
}

int traced_rmdir(const char* path) INSTEAD_OF("rmdir");
int traced_rmdir(const char* path) {
    return counted(kChanges, next_rmdir, AT_FDCWD, path, path);
}

int traced_mkdir(const char* path, mode_t mode) INSTEAD_OF("mkdir");
int traced_mkdir(const char* path, mode_t mode) {
    return counted(kChanges, next_mkdir, AT_FDCWD, path, path, mode);
}

int traced_mkdirat(int directory, const char* path, mode_t mode) INSTEAD_OF("mkdirat");
int traced_mkdirat(int directory, const char* path, mode_t mode) {
    return counted(kChanges, next_mkdirat, directory, path, directory, path, mode);
}

int traced_rename(const char* from, const char* to) INSTEAD_OF("rename");
int traced_rename(const char* from, const char* to) {
    return counted(kChanges, next_rename, AT_FDCWD, to, from, to);
}

int traced_renameat(int from_in, const char* from, int to_in, const char* to) INSTEAD_OF("renameat");
int traced_renameat(int from_in, const char* from, int to_in, const char* to) {
    return counted(kChanges, next_renameat, to_in, to, from_in, from, to_in, to);
}

// Not in libc before 2.28.
int traced_renameat2(int from_in, const char* from, int to_in, const char* to, unsigned flags)
    INSTEAD_OF("renameat2");
int traced_renameat2(int from_in, const char* from, int to_in, const char* to, unsigned flags) {
    if (next_renameat2.get() != nullptr)
        return counted(kChanges, next_renameat2, to_in, to, from_in, from, to_in, to, flags);
    const Stopwatch watch;
    const long result =
        as_libc_returns(system_call(SYS_renameat2, from_in, as_long(from), to_in, as_long(to), flags));
    count_by_name(watch, to_in, to, kChanges, result < 0);
    return static_cast<int>(result);
}

}  // extern "C"

}  // namespace belay::iotrace::preload
