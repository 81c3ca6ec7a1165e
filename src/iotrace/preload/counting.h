// What wrapped calls count, once they have succeeded or failed.
#pragma once

#include "iotrace/preload/descriptors.h"
#include "iotrace/preload/trace.h"

#include <cstdint>
#include <sys/types.h>

namespace belay::iotrace::preload {

inline constexpr int64_t kAtPosition = -1;  // where the descriptor's position is

// Of a call that has returned `done` bytes or, below 0, an error, which is not counted. In full where it is
// called: reads and writes may come a million times a second.
[[gnu::always_inline]] inline void count_read(const Stopwatch& watch, int fd, int64_t offset, ssize_t done) {
    if (done < 0 || !is_traced()) return;
    const uint64_t bytes = static_cast<uint64_t>(done);
    const DescriptorState state = looked_up_for(fd, bytes);
    if (!state.is_file()) return;
    Descriptor& entry = descriptors[fd];
    const bool is_at_position = offset == kAtPosition;
    const uint64_t begin =
        is_at_position ? entry.position.load(std::memory_order_relaxed) : static_cast<uint64_t>(offset);
    const uint64_t end = begin + bytes;
    const bool is_in_order = DescriptorState::comparable(begin) == state.last_read_end();
    entry.store(state.with_last_read_end(end));
    if (is_at_position) entry.position.store(end, std::memory_order_relaxed);

    const Cell cell = cell_of(state.device());
    cell.add((is_in_order ? kReadsInOrder : kReadsElsewhere) + size_bin(bytes));
    cell.add(kReadBytes, bytes);
    watch.stop(cell, kReadNanoseconds);
}

[[gnu::always_inline]] inline void count_write(const Stopwatch& watch, int fd, int64_t offset, ssize_t done) {
    if (done < 0 || !is_traced()) return;
    const uint64_t bytes = static_cast<uint64_t>(done);
    const DescriptorState state = looked_up_for(fd, bytes);
    if (!state.is_file()) return;
    Descriptor& entry = descriptors[fd];
    if (state.kind() == DescriptorState::kAssumed) entry.store(state);
    if (offset == kAtPosition)
        entry.position.store(entry.position.load(std::memory_order_relaxed) + bytes,
                             std::memory_order_relaxed);

    const Cell cell = cell_of(state.device());
    cell.add(kWrites + size_bin(bytes));
    cell.add(kWrittenBytes, bytes);
    watch.stop(cell, kWriteNanoseconds);
}

// A file or directory was opened, or could not be (fd below 0).
void count_open(const Stopwatch& watch, int directory, const char* path, int fd, bool is_directory);

// A call by a name, or where that is "" by the descriptor.
void count_by_name(const Stopwatch& watch, int directory, const char* path, Counter counter, bool has_failed);

// stat and its kin; with the device that a success gave.
void count_stat(const Stopwatch& watch, unsigned device, bool has_failed);

// A call by descriptor; of what is not a file nothing.
void count_by_descriptor(const Stopwatch& watch, int fd, Counter counter, uint64_t amount, Counter time);

// What is known of a descriptor before it is closed, and that it was.
void count_close(const Stopwatch& watch, DescriptorState before);

}  // namespace belay::iotrace::preload
