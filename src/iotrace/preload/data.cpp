// The calls that move data.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"
#include "iotrace/preload/system.h"

#include <sys/mman.h>
#include <sys/uio.h>

namespace belay::iotrace::preload {

namespace {

BELAY_NEXT Next<ssize_t (*)(int, void*, size_t)> next_read("read");
BELAY_NEXT Next<ssize_t (*)(int, void*, size_t, size_t)> next_read_chk("__read_chk");
BELAY_NEXT Next<ssize_t (*)(int, void*, size_t, off_t)> next_pread("pread64");
BELAY_NEXT Next<ssize_t (*)(int, void*, size_t, off_t, size_t)> next_pread_chk("__pread64_chk");
BELAY_NEXT Next<ssize_t (*)(int, const iovec*, int)> next_readv("readv");
BELAY_NEXT Next<ssize_t (*)(int, const iovec*, int, off_t)> next_preadv("preadv64");
BELAY_NEXT Next<ssize_t (*)(int, const void*, size_t)> next_write("write");
BELAY_NEXT Next<ssize_t (*)(int, const void*, size_t, off_t)> next_pwrite("pwrite64");
BELAY_NEXT Next<ssize_t (*)(int, const iovec*, int)> next_writev("writev");
BELAY_NEXT Next<ssize_t (*)(int, const iovec*, int, off_t)> next_pwritev("pwritev64");
BELAY_NEXT Next<ssize_t (*)(int, off_t*, int, off_t*, size_t, unsigned)> next_copy_file_range(
    "copy_file_range");
BELAY_NEXT Next<ssize_t (*)(int, int, off_t*, size_t)> next_sendfile("sendfile64");
BELAY_NEXT Next<off_t (*)(int, off_t, int)> next_lseek("lseek64");
BELAY_NEXT Next<void* (*)(void*, size_t, int, int, int, off_t)> next_mmap("mmap64");
BELAY_NEXT Next<int (*)(int)> next_fsync("fsync");
BELAY_NEXT Next<int (*)(int)> next_fdatasync("fdatasync");

int sync(Next<int (*)(int)>& next, int fd) {
    const auto function = next.get();
    if (function == nullptr) return not_there();
    const Stopwatch watch(Stopwatch::kAlways);
    const int result = function(fd);
    if (result == 0) count_by_descriptor(watch, fd, kSyncs, 1, kSyncNanoseconds);
    return result;
}

}  // namespace

extern "C" {

ssize_t traced_read(int fd, void* to, size_t size) INSTEAD_OF("read");
ssize_t traced_read(int fd, void* to, size_t size) {
    const auto next = next_read.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, to, size);
    count_read(watch, fd, kAtPosition, done);
    return done;
}

ssize_t traced_read_chk(int fd, void* to, size_t size, size_t room) INSTEAD_OF("__read_chk");
ssize_t traced_read_chk(int fd, void* to, size_t size, size_t room) {
    const auto next = next_read_chk.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, to, size, room);
    count_read(watch, fd, kAtPosition, done);
    return done;
}

ssize_t traced_pread(int fd, void* to, size_t size, off_t offset) INSTEAD_OF("pread64");
ssize_t traced_pread(int fd, void* to, size_t size, off_t offset) {
    const auto next = next_pread.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, to, size, offset);
    count_read(watch, fd, offset, done);
    return done;
}
ssize_t traced_pread_plain(int fd, void* to, size_t size, off_t offset) ALSO_INSTEAD_OF("pread", "pread64");

ssize_t traced_pread_chk(int fd, void* to, size_t size, off_t offset, size_t room)
    INSTEAD_OF("__pread64_chk");
ssize_t traced_pread_chk(int fd, void* to, size_t size, off_t offset, size_t room) {
    const auto next = next_pread_chk.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, to, size, offset, room);
    count_read(watch, fd, offset, done);
    return done;
}
ssize_t traced_pread_chk_plain(int fd, void* to, size_t size, off_t offset, size_t room)
    ALSO_INSTEAD_OF("__pread_chk", "__pread64_chk");

ssize_t traced_readv(int fd, const iovec* to, int count) INSTEAD_OF("readv");
ssize_t traced_readv(int fd, const iovec* to, int count) {
    const auto next = next_readv.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const ssize_t done = next(fd, to, count);
    count_read(watch, fd, kAtPosition, done);
    return done;
}

ssize_t traced_preadv(int fd, const iovec* to, int count, off_t offset) INSTEAD_OF("preadv64");
ssize_t traced_preadv(int fd, const iovec* to, int count, off_t offset) {
    const auto next = next_preadv.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const ssize_t done = next(fd, to, count, offset);
    count_read(watch, fd, offset, done);
    return done;
}
ssize_t traced_preadv_plain(int fd, const iovec* to, int count, off_t offset)
    ALSO_INSTEAD_OF("preadv", "preadv64");

ssize_t traced_write(int fd, const void* from, size_t size) INSTEAD_OF("write");
ssize_t traced_write(int fd, const void* from, size_t size) {
    const auto next = next_write.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, from, size);
    count_write(watch, fd, kAtPosition, done);
    return done;
}

ssize_t traced_pwrite(int fd, const void* from, size_t size, off_t offset) INSTEAD_OF("pwrite64");
ssize_t traced_pwrite(int fd, const void* from, size_t size, off_t offset) {
    const auto next = next_pwrite.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(fd, from, size, offset);
    count_write(watch, fd, offset, done);
    return done;
}
ssize_t traced_pwrite_plain(int fd, const void* from, size_t size, off_t offset)
    ALSO_INSTEAD_OF("pwrite", "pwrite64");

ssize_t traced_writev(int fd, const iovec* from, int count) INSTEAD_OF("writev");
ssize_t traced_writev(int fd, const iovec* from, int count) {
    const auto next = next_writev.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const ssize_t done = next(fd, from, count);
    count_write(watch, fd, kAtPosition, done);
    return done;
}

ssize_t traced_pwritev(int fd, const iovec* from, int count, off_t offset) INSTEAD_OF("pwritev64");
ssize_t traced_pwritev(int fd, const iovec* from, int count, off_t offset) {
    const auto next = next_pwritev.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    const ssize_t done = next(fd, from, count, offset);
    count_write(watch, fd, offset, done);
    return done;
}
ssize_t traced_pwritev_plain(int fd, const iovec* from, int count, off_t offset)
    ALSO_INSTEAD_OF("pwritev", "pwritev64");

// What cp copies with: a read here and a write there. Its time is counted as that of reading. Not in libc
// before 2.27.
ssize_t traced_copy_file_range(int in, off_t* in_at, int out, off_t* out_at, size_t size, unsigned flags)
    INSTEAD_OF("copy_file_range");
ssize_t traced_copy_file_range(int in, off_t* in_at, int out, off_t* out_at, size_t size, unsigned flags) {
    const auto next = next_copy_file_range.get();
    const Stopwatch watch(size);
    const ssize_t done = next != nullptr
                             ? next(in, in_at, out, out_at, size, flags)
                             : as_libc_returns(system_call(SYS_copy_file_range, in, as_long(in_at), out,
                                                           as_long(out_at), static_cast<long>(size), flags));
    if (done < 0) return done;
    count_read(watch, in, in_at != nullptr ? *in_at - done : kAtPosition, done);
    count_write(Stopwatch(Stopwatch::kNever), out, out_at != nullptr ? *out_at - done : kAtPosition, done);
    return done;
}

ssize_t traced_sendfile(int out, int in, off_t* in_at, size_t size) INSTEAD_OF("sendfile64");
ssize_t traced_sendfile(int out, int in, off_t* in_at, size_t size) {
    const auto next = next_sendfile.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch(size);
    const ssize_t done = next(out, in, in_at, size);
    if (done < 0) return done;
    count_read(watch, in, in_at != nullptr ? *in_at - done : kAtPosition, done);
    count_write(Stopwatch(Stopwatch::kNever), out, kAtPosition, done);
    return done;
}
ssize_t traced_sendfile_plain(int out, int in, off_t* in_at, size_t size)
    ALSO_INSTEAD_OF("sendfile", "sendfile64");

// Not counted: it asks no server, but says where the next read begins.
off_t traced_lseek(int fd, off_t offset, int from) INSTEAD_OF("lseek64");
off_t traced_lseek(int fd, off_t offset, int from) {
    const auto next = next_lseek.get();
    if (next == nullptr) return not_there();
    const off_t place = next(fd, offset, from);
    if (place < 0) return place;
    Descriptor* entry = descriptor(fd);
    if (entry != nullptr && entry->load().is_file() && !entry->load().is_directory())
        entry->position.store(static_cast<uint64_t>(place), std::memory_order_relaxed);
    return place;
}
off_t traced_lseek_plain(int fd, off_t offset, int from) ALSO_INSTEAD_OF("lseek", "lseek64");

// Allocators call this when nothing else works yet.
void* traced_mmap(void* place, size_t size, int protection, int flags, int fd, off_t offset)
    INSTEAD_OF("mmap64");
void* traced_mmap(void* place, size_t size, int protection, int flags, int fd, off_t offset) {
    const auto next = next_mmap.get();
    void* mapped =
        next != nullptr
            ? next(place, size, protection, flags, fd, offset)
            // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the kernel
            : reinterpret_cast<void*>(as_libc_returns(system_call(
                  SYS_mmap, as_long(place), static_cast<long>(size), protection, flags, fd, offset)));
    if (mapped == MAP_FAILED || fd < 0 || (flags & MAP_ANONYMOUS) != 0) return mapped;
    const Stopwatch watch(Stopwatch::kNever);
    count_by_descriptor(watch, fd, kMappedBytes, size, kMetadataNanoseconds);
    count_by_descriptor(watch, fd, kMaps, 1, kMetadataNanoseconds);
    return mapped;
}
void* traced_mmap_plain(void* place, size_t size, int protection, int flags, int fd, off_t offset)
    ALSO_INSTEAD_OF("mmap", "mmap64");

int traced_fsync(int fd) INSTEAD_OF("fsync");
int traced_fsync(int fd) {
    return sync(next_fsync, fd);
}
int traced_fdatasync(int fd) INSTEAD_OF("fdatasync");
int traced_fdatasync(int fd) {
    return sync(next_fdatasync, fd);
}

}  // extern "C"

}  // namespace belay::iotrace::preload
