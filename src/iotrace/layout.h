// The file that a traced process and the recorder share: counters by device and slot, in a mapping. The
// library (preload/) adds to it, the reader (trace_file.h) sums it up.
//
//   header   4096 bytes   magic, version, the five sizes below, two counts, the table of devices
//   cells    1024 bytes each, cells[device][slot]: 128 counters of 64 bits, each only ever added to
//
// Numbers are in the machine's byte order: the file never leaves its node. Needs no library, neither of C++
// nor of C.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belay::iotrace {

// "BLYIOTR1" as a little-endian number.
inline constexpr uint64_t kMagic = 0x3152544f49594c42;
inline constexpr uint32_t kVersion = 1;

inline constexpr size_t kDevices = 32;
inline constexpr size_t kSlots = 64;
inline constexpr size_t kCellWords = 128;
inline constexpr size_t kSizeBins = 32;
inline constexpr size_t kHeaderBytes = 4096;
inline constexpr size_t kCellBytes = kCellWords * 8;
inline constexpr size_t kFileBytes = kHeaderBytes + kDevices * kSlots * kCellBytes;

// Calls of which no device is known, and those on devices for which the table has no room.
inline constexpr unsigned kNoDevice = 0;
inline constexpr unsigned kOtherDevices = kDevices - 1;

// Where numbers stand in the header, in bytes from its beginning.
enum HeaderPlace : size_t {
    kMagicPlace = 0,    // u64
    kVersionPlace = 8,  // u32, as the next five
    kHeaderBytesPlace = 12,
    kDevicesPlace = 16,
    kSlotsPlace = 20,
    kCellWordsPlace = 24,
    kSizeBinsPlace = 28,
    kThreadsPlace = 64,      // u64: threads that have counted something; of it a thread's slot is made
    kProgramsPlace = 128,    // u64: programs that were started under the library
    kBeganPlace = 192,       // u64: when the file was made, in nanoseconds since 1970, UTC
    kDeviceTablePlace = 256  // u64 × kDevices: kDeviceIsSet with the number of the device, 0 for none yet
};

// A device in the table.
inline constexpr uint64_t kDeviceIsSet = uint64_t{1} << 63;
constexpr uint64_t packed_device(uint32_t major, uint32_t minor) {
    return kDeviceIsSet | uint64_t{major} << 32 | minor;
}
// The same of st_dev (glibc, bits/sysmacros.h: 12 bits of each number as ever, the others above).
constexpr uint64_t packed_device(uint64_t st_dev) {
    return packed_device(static_cast<uint32_t>((st_dev >> 8 & 0xfff) | (st_dev >> 32 & 0xfffff000)),
                         static_cast<uint32_t>((st_dev & 0xff) | (st_dev >> 12 & 0xffffff00)));
}

// The counters of a cell. Bytes are those that calls returned, not those that were asked for.
enum Counter : size_t {
    kOpens,        // of files that succeeded: open(2) and its kin, fopen(3)
    kOpensFailed,  // of files and directories
    kCloses,
    kStats,             // stat(2), statx(2), access(2), readlink(2) and their kin
    kStatsFailed,       // of them those that failed
    kDirectoryOpens,    // opendir(3), open(2) with O_DIRECTORY
    kDirectoryEntries,  // that readdir(3) has returned from directories read to their end, or closed
    kChanges,           // unlink(2), rename(2), mkdir(2), rmdir(2) and their kin
    kSyncs,             // fsync(2), fdatasync(2)
    kMaps,              // mmap(2) of files
    kMappedBytes,       // that were mapped; how many of them were read is not known
    kReadBytes,
    kWrittenBytes,
    kReadNanoseconds,  // the time spent in such calls, as far as it was measured, times what it stands for
    kWriteNanoseconds,
    kMetadataNanoseconds,
    kSyncNanoseconds,
    kCounters,
};

// Behind the counters, three histograms of calls by the bytes that they returned. Of reads, those that began
// where the last one of their descriptor had ended (the first: at the beginning of the file), and those that
// did not.
inline constexpr size_t kReadsInOrder = 32;
inline constexpr size_t kReadsElsewhere = kReadsInOrder + kSizeBins;
inline constexpr size_t kWrites = kReadsElsewhere + kSizeBins;
static_assert(kCounters <= kReadsInOrder && kWrites + kSizeBins == kCellWords);

// Bin 0 holds calls of 0 bytes, bin k those from 2^(k-1) on and below 2^k, the last all that are longer.
constexpr size_t size_bin(uint64_t bytes) {
    if (bytes == 0) return 0;
    const size_t bits = 64 - static_cast<size_t>(__builtin_clzll(bytes));
    return bits < kSizeBins ? bits : kSizeBins - 1;
}

constexpr size_t cell_place(unsigned device, size_t slot) {
    return kHeaderBytes + (size_t{device} * kSlots + slot) * kCellBytes;
}

// Names the file to a process that is to be traced.
inline constexpr char kTraceVariable[] = "BELAY_IO_TRACE";

}  // namespace belay::iotrace
