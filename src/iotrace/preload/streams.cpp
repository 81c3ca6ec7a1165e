// Streams of stdio. libc reads and writes their buffers by itself, without calling what others can wrap; so
// what it has fetched or sent is told from the buffer before and after a call, which glibc shows in its
// headers (bits/types/struct_FILE.h). Seen are fopen, fread, fwrite, fseek, fflush and fclose: what programs
// read and write data with. What fgets, getc, fscanf or fprintf fetch and send on their way is not.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"

#include <cstdio>
#include <fcntl.h>

namespace belay::iotrace::preload {

namespace {

BELAY_NEXT Next<FILE* (*)(const char*, const char*)> next_fopen("fopen64");
BELAY_NEXT Next<int (*)(FILE*)> next_fclose("fclose");
BELAY_NEXT Next<int (*)(FILE*)> next_fflush("fflush");
BELAY_NEXT Next<int (*)(FILE*)> next_fileno("fileno");
using Read = size_t (*)(void*, size_t, size_t, FILE*);
BELAY_NEXT Next<Read> next_fread("fread");
BELAY_NEXT Next<Read> next_fread_unlocked("fread_unlocked");
using ReadChecked = size_t (*)(void*, size_t, size_t, size_t, FILE*);
BELAY_NEXT Next<ReadChecked> next_fread_chk("__fread_chk");
using Write = size_t (*)(const void*, size_t, size_t, FILE*);
BELAY_NEXT Next<Write> next_fwrite("fwrite");
BELAY_NEXT Next<Write> next_fwrite_unlocked("fwrite_unlocked");
BELAY_NEXT Next<int (*)(FILE*, off_t, int)> next_fseeko("fseeko64");
BELAY_NEXT Next<void (*)(FILE*)> next_rewind("rewind");

// Only of glibc is known how its streams look.
extern "C" const char* glibc_version() __asm__("gnu_get_libc_version") __attribute__((weak));

#ifdef __GLIBC__
bool is_known(const FILE* stream) {
    return glibc_version != nullptr && stream != nullptr;
}
// Another thread may use the stream meanwhile: then the two pointers need not belong together.
size_t between(const FILE* stream, const char* from, const char* to) {
    return from <= to && to - from <= stream->_IO_buf_end - stream->_IO_buf_base
               ? static_cast<size_t>(to - from)
               : 0;
}
size_t unread(const FILE* stream) {
    return between(stream, stream->_IO_read_ptr, stream->_IO_read_end);
}
size_t unsent(const FILE* stream) {
    return between(stream, stream->_IO_write_base, stream->_IO_write_ptr);
}
const char* end_of_read(const FILE* stream) {
    return stream->_IO_read_end;
}
size_t in_buffer(const FILE* stream) {
    return between(stream, stream->_IO_read_base, stream->_IO_read_end);
}
int number_in(const FILE* stream) {
    return stream->_fileno;
}
// Where the descriptor stands, as far as libc knows; -1 if it has not looked.
int64_t place_of(const FILE* stream) {
    return stream->_offset;
}
#else
bool is_known(const FILE*) {
    return false;
}
size_t unread(const FILE*) {
    return 0;
}
size_t unsent(const FILE*) {
    return 0;
}
const char* end_of_read(const FILE*) {
    return nullptr;
}
size_t in_buffer(const FILE*) {
    return 0;
}
int number_in(const FILE*) {
    return -1;
}
int64_t place_of(const FILE*) {
    return -1;
}
#endif

void count_fetched(const Stopwatch& watch, const FILE* stream, size_t fetched) {
    const int64_t end = place_of(stream);
    const bool is_place_known = end >= static_cast<int64_t>(fetched);
    count_read(watch, number_in(stream), is_place_known ? end - static_cast<int64_t>(fetched) : kAtPosition,
               static_cast<ssize_t>(fetched));
}

void count_sent(const Stopwatch& watch, const FILE* stream, size_t sent) {
    if (sent != 0) count_write(watch, number_in(stream), kAtPosition, static_cast<ssize_t>(sent));
}

// `call` reads up to size × count bytes. What the buffer holds costs libc next to nothing, and so it must us.
template <typename Call>
size_t read_through(FILE* stream, size_t size, size_t count, const Call& call) {
    size_t wanted = 0;
    if (!is_known(stream) || __builtin_mul_overflow(size, count, &wanted)) return call();
    const size_t before = unread(stream);
    if (wanted <= before) return call();
    const Stopwatch watch(wanted);
    const size_t items = call();
    const size_t had = items * size + unread(stream);
    if (is_traced() && had >= before) count_fetched(watch, stream, had - before);
    return items;
}

template <typename Call>
size_t write_through(FILE* stream, size_t size, const Call& call) {
    if (!is_known(stream)) return call();
    const size_t before = unsent(stream);
    const Stopwatch watch;
    const size_t items = call();
    const size_t had = before + items * size, left = unsent(stream);
    if (is_traced() && had > left) count_sent(watch, stream, had - left);
    return items;
}

// Unless the place is in the buffer, glibc reads a block there at once.
template <typename Call>
void seek_through(FILE* stream, const Call& call) {
    if (!is_known(stream)) return call();
    const char* const end_before = end_of_read(stream);
    const int64_t place_before = place_of(stream);
    const size_t unsent_before = unsent(stream);
    const Stopwatch watch;
    call();
    if (!is_traced()) return;
    if (unsent(stream) == 0) count_sent(Stopwatch(Stopwatch::kNever), stream, unsent_before);
    if (end_of_read(stream) == end_before && place_of(stream) == place_before) return;
    const size_t fetched = in_buffer(stream);
    if (fetched != 0) count_fetched(watch, stream, fetched);
    Descriptor* entry = descriptor(number_in(stream));
    if (entry != nullptr && place_of(stream) >= 0)
        entry->position.store(static_cast<uint64_t>(place_of(stream)), std::memory_order_relaxed);
}

}  // namespace

extern "C" {

FILE* traced_fopen(const char* path, const char* how) INSTEAD_OF("fopen64");
FILE* traced_fopen(const char* path, const char* how) {
    const auto next = next_fopen.get();
    const auto number_of = next_fileno.get();
    if (next == nullptr || number_of == nullptr) return static_cast<void>(not_there()), nullptr;
    const Stopwatch watch;
    FILE* stream = next(path, how);
    count_open(watch, AT_FDCWD, path, stream != nullptr ? number_of(stream) : -1, false);
    return stream;
}
FILE* traced_fopen_plain(const char* path, const char* how) ALSO_INSTEAD_OF("fopen", "fopen64");

int traced_fclose(FILE* stream) INSTEAD_OF("fclose");
int traced_fclose(FILE* stream) {
    const auto next = next_fclose.get();
    const auto number_of = next_fileno.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    if (!is_traced() || number_of == nullptr) return next(stream);
    if (is_known(stream)) count_sent(Stopwatch(Stopwatch::kNever), stream, unsent(stream));
    const int error_before = last_error();
    const DescriptorState before = forget(number_of(stream));
    *this_thread.error = error_before;  // of streams in memory, fileno fails
    const int result = next(stream);
    count_close(watch, before);
    return result;
}

int traced_fflush(FILE* stream) INSTEAD_OF("fflush");
int traced_fflush(FILE* stream) {
    const auto next = next_fflush.get();
    if (next == nullptr) return not_there();
    if (!is_known(stream)) return next(stream);  // nullptr: all streams
    const size_t before = unsent(stream);
    const Stopwatch watch;
    const int result = next(stream);
    if (is_traced() && before > unsent(stream)) count_sent(watch, stream, before - unsent(stream));
    return result;
}

size_t traced_fread(void* to, size_t size, size_t count, FILE* stream) INSTEAD_OF("fread");
size_t traced_fread(void* to, size_t size, size_t count, FILE* stream) {
    const auto next = next_fread.get();
    if (next == nullptr) return static_cast<void>(not_there()), 0;
    return read_through(stream, size, count, [&] { return next(to, size, count, stream); });
}
size_t traced_fread_unlocked(void* to, size_t size, size_t count, FILE* stream) INSTEAD_OF("fread_unlocked");
size_t traced_fread_unlocked(void* to, size_t size, size_t count, FILE* stream) {
    const auto next = next_fread_unlocked.get();
    if (next == nullptr) return static_cast<void>(not_there()), 0;
    return read_through(stream, size, count, [&] { return next(to, size, count, stream); });
}
size_t traced_fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream)
    INSTEAD_OF("__fread_chk");
size_t traced_fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream) {
    const auto next = next_fread_chk.get();
    if (next == nullptr) return static_cast<void>(not_there()), 0;
    return read_through(stream, size, count, [&] { return next(to, room, size, count, stream); });
}

size_t traced_fwrite(const void* from, size_t size, size_t count, FILE* stream) INSTEAD_OF("fwrite");
size_t traced_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
    const auto next = next_fwrite.get();
    if (next == nullptr) return static_cast<void>(not_there()), 0;
    return write_through(stream, size, [&] { return next(from, size, count, stream); });
}
size_t traced_fwrite_unlocked(const void* from, size_t size, size_t count, FILE* stream)
    INSTEAD_OF("fwrite_unlocked");
size_t traced_fwrite_unlocked(const void* from, size_t size, size_t count, FILE* stream) {
    const auto next = next_fwrite_unlocked.get();
    if (next == nullptr) return static_cast<void>(not_there()), 0;
    return write_through(stream, size, [&] { return next(from, size, count, stream); });
}

int traced_fseeko(FILE* stream, off_t offset, int from) INSTEAD_OF("fseeko64");
int traced_fseeko(FILE* stream, off_t offset, int from) {
    const auto next = next_fseeko.get();
    if (next == nullptr) return not_there();
    int result = -1;
    seek_through(stream, [&] { result = next(stream, offset, from); });
    return result;
}
int traced_fseeko_plain(FILE* stream, off_t offset, int from) ALSO_INSTEAD_OF("fseeko", "fseeko64");
int traced_fseek(FILE* stream, long offset, int from) ALSO_INSTEAD_OF("fseek", "fseeko64");

void traced_rewind(FILE* stream) INSTEAD_OF("rewind");
void traced_rewind(FILE* stream) {
    if (const auto next = next_rewind.get()) seek_through(stream, [&] { next(stream); });
}

}  // extern "C"

}  // namespace belay::iotrace::preload
