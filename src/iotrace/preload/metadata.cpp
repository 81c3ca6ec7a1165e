// The calls that ask for or change what stands in directories and inodes.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"
#include "iotrace/preload/paths.h"
#include "iotrace/preload/system.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace belay::iotrace::preload {

namespace {

using StatAt = int (*)(int, const char*, struct stat*, int);
using Stat = int (*)(const char*, struct stat*);
BELAY_NEXT Next<Stat> next_stat("stat64");
BELAY_NEXT Next<Stat> next_lstat("lstat64");
BELAY_NEXT Next<int (*)(int, struct stat*)> next_fstat("fstat64");
BELAY_NEXT Next<StatAt> next_fstatat("fstatat64");
BELAY_NEXT Next<int (*)(int, const char*, int, unsigned, struct statx*)> next_statx("statx");
// Programs that were linked with a libc before 2.33 call these.
using OldStat = int (*)(int, const char*, struct stat*);
BELAY_NEXT Next<OldStat> next_xstat("__xstat64");
BELAY_NEXT Next<OldStat> next_lxstat("__lxstat64");
BELAY_NEXT Next<int (*)(int, int, struct stat*)> next_fxstat("__fxstat64");
BELAY_NEXT Next<int (*)(int, int, const char*, struct stat*, int)> next_fxstatat("__fxstatat64");

// For a libc that has the older functions only, and for its caller who found this one by dlsym.
int ask_for_facts(int directory, const char* path, struct stat* facts, int flags) {
    return static_cast<int>(
        as_libc_returns(system_call(SYS_newfstatat, directory, as_long(path), as_long(facts), flags)));
}

// What the kernel has answered of a descriptor (path is "") or a name.
void count_answer(const Stopwatch& watch, int directory, const char* path, mode_t mode, uint64_t device) {
    const bool counts = S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
    const bool is_of_descriptor = path == nullptr || *path == '\0';
    if (!counts && is_of_descriptor) {
        note_facts(directory, mode, kNoDevice);
        return;
    }
    const unsigned index = index_of_device(device);
    if (is_of_descriptor) note_facts(directory, mode, index);
    count_stat(watch, index, false);
}

int count_stat_call(const Stopwatch& watch, int directory, const char* path, int result,
                    const struct stat* facts) {
    if (!is_traced()) return result;
    if (result == 0)
        count_answer(watch, directory, path, facts->st_mode, packed_device(facts->st_dev));
    else
        count_by_name(watch, directory, path, kStats, true);
    return result;
}

}  // namespace

extern "C" {

int traced_stat(const char* path, struct stat* facts) INSTEAD_OF("stat64");
int traced_stat(const char* path, struct stat* facts) {
    const auto next = next_stat.get();
    const Stopwatch watch;
    return count_stat_call(watch, AT_FDCWD, path,
                           next != nullptr ? next(path, facts) : ask_for_facts(AT_FDCWD, path, facts, 0),
                           facts);
}
int traced_stat_plain(const char* path, struct stat* facts) ALSO_INSTEAD_OF("stat", "stat64");

int traced_lstat(const char* path, struct stat* facts) INSTEAD_OF("lstat64");
int traced_lstat(const char* path, struct stat* facts) {
    const auto next = next_lstat.get();
    const Stopwatch watch;
    const int result =
        next != nullptr ? next(path, facts) : ask_for_facts(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
    return count_stat_call(watch, AT_FDCWD, path, result, facts);
}
int traced_lstat_plain(const char* path, struct stat* facts) ALSO_INSTEAD_OF("lstat", "lstat64");

int traced_fstat(int fd, struct stat* facts) INSTEAD_OF("fstat64");
int traced_fstat(int fd, struct stat* facts) {
    const auto next = next_fstat.get();
    const Stopwatch watch;
    return count_stat_call(watch, fd, nullptr,
                           next != nullptr ? next(fd, facts) : ask_for_facts(fd, "", facts, AT_EMPTY_PATH),
                           facts);
}
int traced_fstat_plain(int fd, struct stat* facts) ALSO_INSTEAD_OF("fstat", "fstat64");

int traced_fstatat(int directory, const char* path, struct stat* facts, int flags) INSTEAD_OF("fstatat64");
int traced_fstatat(int directory, const char* path, struct stat* facts, int flags) {
    const auto next = next_fstatat.get();
    const Stopwatch watch;
    const int result =
        next != nullptr ? next(directory, path, facts, flags) : ask_for_facts(directory, path, facts, flags);
    return count_stat_call(watch, directory, path, result, facts);
}
int traced_fstatat_plain(int directory, const char* path, struct stat* facts, int flags)
    ALSO_INSTEAD_OF("fstatat", "fstatat64");

// Not in libc before 2.28. Programs that find it there call it.
int traced_statx(int directory, const char* path, int flags, unsigned mask, struct statx* facts)
    INSTEAD_OF("statx");
int traced_statx(int directory, const char* path, int flags, unsigned mask, struct statx* facts) {
    const auto next = next_statx.get();
    const Stopwatch watch;
    const int result = next != nullptr
                           ? next(directory, path, flags, mask, facts)
                           : static_cast<int>(as_libc_returns(system_call(SYS_statx, directory, as_long(path),
                                                                          flags, mask, as_long(facts))));
    if (!is_traced()) return result;
    if (result == 0)
        count_answer(watch, directory, path, facts->stx_mode,
                     packed_device(facts->stx_dev_major, facts->stx_dev_minor));
    else
        count_by_name(watch, directory, path, kStats, true);
    return result;
}

int traced_xstat(int version, const char* path, struct stat* facts) INSTEAD_OF("__xstat64");
int traced_xstat(int version, const char* path, struct stat* facts) {
    const auto next = next_xstat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    return count_stat_call(watch, AT_FDCWD, path, next(version, path, facts), facts);
}
int traced_xstat_plain(int version, const char* path, struct stat* facts)
    ALSO_INSTEAD_OF("__xstat", "__xstat64");

int traced_lxstat(int version, const char* path, struct stat* facts) INSTEAD_OF("__lxstat64");
int traced_lxstat(int version, const char* path, struct stat* facts) {
    const auto next = next_lxstat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    return count_stat_call(watch, AT_FDCWD, path, next(version, path, facts), facts);
}
int traced_lxstat_plain(int version, const char* path, struct stat* facts)
    ALSO_INSTEAD_OF("__lxstat", "__lxstat64");

int traced_fxstat(int version, int fd, struct stat* facts) INSTEAD_OF("__fxstat64");
int traced_fxstat(int version, int fd, struct stat* facts) {
    const auto next = next_fxstat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    return count_stat_call(watch, fd, nullptr, next(version, fd, facts), facts);
}
int traced_fxstat_plain(int version, int fd, struct stat* facts) ALSO_INSTEAD_OF("__fxstat", "__fxstat64");

int traced_fxstatat(int version, int directory, const char* path, struct stat* facts, int flags)
    INSTEAD_OF("__fxstatat64");
int traced_fxstatat(int version, int directory, const char* path, struct stat* facts, int flags) {
    const auto next = next_fxstatat.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    return count_stat_call(watch, directory, path, next(version, directory, path, facts, flags), facts);
}
int traced_fxstatat_plain(int version, int directory, const char* path, struct stat* facts, int flags)
    ALSO_INSTEAD_OF("__fxstatat", "__fxstatat64");

}  // extern "C"

}  // namespace belay::iotrace::preload
