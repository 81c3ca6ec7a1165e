#include "iotrace/preload/paths.h"

#include "iotrace/layout.h"
#include "iotrace/preload/descriptors.h"
#include "iotrace/preload/system.h"
#include "iotrace/preload/trace.h"

#include <atomic>
#include <fcntl.h>
#include <sys/stat.h>

namespace belay::iotrace::preload {

namespace {

constexpr size_t kRemembered = 256;
constexpr size_t kLongestDirectory = 1024;  // bytes of its name; of longer ones the device is not looked up

// The upper 56 bits of the hash of a directory's name and, below, the index of the device.
std::atomic<uint64_t> remembered[kRemembered];
std::atomic<uint64_t> working_directory = 1;  // counts changes

constexpr uint64_t each_byte(uint8_t value) {
    return value * uint64_t{0x0101010101010101};
}

// The highest bit of each byte that is 0 (Warren, Hacker's Delight, 6-1).
constexpr uint64_t zero_bytes(uint64_t word) {
    return ~(((word & each_byte(0x7f)) + each_byte(0x7f)) | word) & each_byte(0x80);
}

// How many bytes of the path stand before what follows its last slash. Eight at a time, from where they are
// aligned, so that nothing is touched beyond the page of the last one.
[[gnu::always_inline]] inline size_t length_of_directory(const char* path) {
    const size_t before = reinterpret_cast<uintptr_t>(path) % 8;
    const char* at = path - before;
    const char* last_at = at;
    uint64_t last = 0;  // the slashes of the last word that has any
    for (uint64_t ignored = (uint64_t{1} << (8 * before)) - 1;; ignored = 0, at += 8) {
        uint64_t word = 0;
        __builtin_memcpy(&word, at, 8);
        word |= ignored;
        const uint64_t end = zero_bytes(word);
        const uint64_t slashes = zero_bytes(word ^ each_byte('/')) & ((end & -end) - 1);
        if (slashes != 0) {
            last = slashes;
            last_at = at;
        }
        if (end != 0) break;
    }
    if (last == 0) return 0;
    return static_cast<size_t>(last_at - path) + (63 - static_cast<size_t>(__builtin_clzll(last))) / 8 + 1;
}

// As MurmurHash64A mixes (Appleby): eight bytes at a time, since a byte at a time costs more than the rest of
// this together.
uint64_t mixed(uint64_t hash, uint64_t value) {
    value *= 0xc6a4a7935bd1e995;
    value ^= value >> 47;
    return (hash ^ value) * 0xc6a4a7935bd1e995;
}
uint64_t hash_of(const char* text, size_t length, uint64_t seed) {
    uint64_t hash = seed ^ length, part = 0;
    const char* const end = text + length;
    for (; end - text > 8; text += 8) {
        __builtin_memcpy(&part, text, 8);
        hash = mixed(hash, part);
    }
    if (length >= 8)
        __builtin_memcpy(&part, end - 8, 8);
    else
        for (part = 0; text != end; ++text) part = part << 8 | static_cast<unsigned char>(*text);
    hash = mixed(hash, part);
    return hash ^ (hash >> 29);
}

// Where the directory is not there either, the device of the nearest one above that is.
[[gnu::cold, gnu::noinline]] unsigned device_of_directory(const char* path, size_t length) {
    char name[kLongestDirectory + 1];
    const bool is_absolute = path[0] == '/';
    if (length > kLongestDirectory) return kNoDevice;
    for (size_t i = 0; i < length; ++i) name[i] = path[i];
    for (;;) {
        name[length] = '\0';
        const bool is_last = length == 0;
        FileFacts facts;
        if (ask_kernel(AT_FDCWD, !is_last ? name : is_absolute ? "/" : ".", facts))
            return index_of_device(facts.device);
        if (is_last) return kNoDevice;
        while (length > 0 && name[length - 1] != '/') --length;
        while (length > 0 && name[length - 1] == '/') --length;
    }
}

}  // namespace

bool ask_kernel(int directory, const char* path, FileFacts& facts) {
    const int flags = *path == '\0' ? AT_EMPTY_PATH : 0;
    struct statx extended;
    if (system_call(SYS_statx, directory, as_long(path), flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
                    STATX_TYPE, as_long(&extended)) == 0) {
        facts = {extended.stx_mode, packed_device(extended.stx_dev_major, extended.stx_dev_minor)};
        return true;
    }
    struct stat plain;  // kernels before 4.11, and containers whose filter does not know statx
    if (system_call(SYS_newfstatat, directory, as_long(path), as_long(&plain), flags | AT_NO_AUTOMOUNT) != 0)
        return false;
    facts = {plain.st_mode, packed_device(plain.st_dev)};
    return true;
}

unsigned device_of_path(int directory, const char* path) {
    const bool is_absolute = path[0] == '/';
    if (!is_absolute && directory != AT_FDCWD) {
        const DescriptorState state = looked_up(directory);
        return state.is_file() ? state.device() : kNoDevice;
    }
    size_t length = length_of_directory(path);
    const uint64_t seed = is_absolute ? 0 : working_directory.load(std::memory_order_relaxed);
    const uint64_t hash = hash_of(path, length, seed) | 0x100;  // never that of an empty place
    std::atomic<uint64_t>& place = remembered[hash >> 9 & (kRemembered - 1)];
    const uint64_t there = place.load(std::memory_order_relaxed);
    if (__builtin_expect((there ^ hash) >> 8 == 0, 1)) return there & 0xff;
    while (length > 0 && path[length - 1] == '/') --length;
    const unsigned device = device_of_directory(path, length);
    place.store((hash & ~uint64_t{0xff}) | device, std::memory_order_relaxed);
    return device;
}

void forget_working_directory() {
    working_directory.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
}

}  // namespace belay::iotrace::preload
