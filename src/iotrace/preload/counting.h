// What wrapped calls count, once they have succeeded or failed.
#pragma once

#include "iotrace/preload/descriptors.h"
#include "iotrace/preload/trace.h"

#include <cstdint>
#include <sys/types.h>

namespace belay::iotrace::preload {

inline constexpr int64_t kAtPosition = -1;  // where the descriptor's position is

// Of a call that has returned `done` bytes or, below 0, an error, which is not counted.
void count_read(const Stopwatch& watch, int fd, int64_t offset, ssize_t done);
void count_write(const Stopwatch& watch, int fd, int64_t offset, ssize_t done);

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
