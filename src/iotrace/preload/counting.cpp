#include "iotrace/preload/counting.h"

#include "iotrace/preload/paths.h"
#include "iotrace/preload/system.h"

#include <cerrno>

namespace belay::iotrace::preload {

namespace {

// The kernel could not read the name, and neither can we.
bool is_unreadable(bool has_failed) {
    return has_failed && last_error() == EFAULT;
}

}  // namespace

void count_open(const Stopwatch& watch, int directory, const char* path, int fd, bool is_directory) {
    const bool has_failed = fd < 0;
    if (!is_traced() || path == nullptr || is_unreadable(has_failed)) return;
    const unsigned device = device_of_path(directory, path);
    if (!has_failed) note_opened(fd, device);
    const Cell cell = cell_of(device);
    cell.add(has_failed ? kOpensFailed : is_directory ? kDirectoryOpens : kOpens);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_by_name(const Stopwatch& watch, int directory, const char* path, Counter counter,
                   bool has_failed) {
    if (!is_traced() || path == nullptr || is_unreadable(has_failed)) return;
    const Cell cell = cell_of(device_of_path(directory, path));
    cell.add(counter);
    if (has_failed && counter == kStats) cell.add(kStatsFailed);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_stat(const Stopwatch& watch, unsigned device, bool has_failed) {
    const Cell cell = cell_of(device);
    cell.add(kStats);
    if (has_failed) cell.add(kStatsFailed);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_by_descriptor(const Stopwatch& watch, int fd, Counter counter, uint64_t amount, Counter time) {
    if (!is_traced()) return;
    const DescriptorState state = looked_up_for(fd, amount);
    if (!state.is_file()) return;
    descriptor(fd)->store(state);
    const Cell cell = cell_of(state.device());
    cell.add(counter, amount);
    watch.stop(cell, time);
}

void count_close(const Stopwatch& watch, DescriptorState before) {
    if (!is_traced() || !before.is_file()) return;
    const Cell cell = cell_of(before.device());
    cell.add(kCloses);
    watch.stop(cell, kMetadataNanoseconds);
}

}  // namespace belay::iotrace::preload
