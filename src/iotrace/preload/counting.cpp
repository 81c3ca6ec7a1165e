#include "iotrace/preload/counting.h"

#include "iotrace/preload/paths.h"
#include "iotrace/preload/system.h"

#include <cerrno>

namespace belay::iotrace::preload {

void count_read(const Stopwatch& watch, int fd, int64_t offset, ssize_t done) {
    char* mapping = watch.mapping_if_traced();
    if (mapping == nullptr || done < 0) return;
    const uint64_t bytes = static_cast<uint64_t>(done);
    const DescriptorState state = looked_up_for(mapping, fd, bytes);
    if (!state.is_file()) return;
    Descriptor& entry = *descriptor(fd);
    const bool is_at_position = offset == kAtPosition;
    const uint64_t begin = is_at_position ? entry.position.load(std::memory_order_relaxed) : static_cast<uint64_t>(offset);
    const uint64_t end = begin + bytes;
    const bool is_in_order = DescriptorState::comparable(begin) == state.last_read_end();
    entry.store(state.with_last_read_end(end));
    if (is_at_position) entry.position.store(end, std::memory_order_relaxed);

    const Cell cell(mapping, state.device());
    cell.add((is_in_order ? kReadsInOrder : kReadsElsewhere) + size_bin(bytes));
    if (bytes != 0) cell.add(kReadBytes, bytes);
    watch.stop(cell, kReadNanoseconds);
}

void count_write(const Stopwatch& watch, int fd, int64_t offset, ssize_t done) {
    char* mapping = watch.mapping_if_traced();
    if (mapping == nullptr || done < 0) return;
    const uint64_t bytes = static_cast<uint64_t>(done);
    const DescriptorState state = looked_up_for(mapping, fd, bytes);
    if (!state.is_file()) return;
    Descriptor& entry = *descriptor(fd);
    entry.store(state);
    if (offset == kAtPosition)
        entry.position.store(entry.position.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);

    const Cell cell(mapping, state.device());
    cell.add(kWrites + size_bin(bytes));
    if (bytes != 0) cell.add(kWrittenBytes, bytes);
    watch.stop(cell, kWriteNanoseconds);
}

namespace {

// The kernel could not read the name, and neither can we.
bool is_unreadable(bool has_failed) { return has_failed && last_error() == EFAULT; }

}  // namespace

void count_open(const Stopwatch& watch, int directory, const char* path, int fd, bool is_directory) {
    char* mapping = watch.mapping_if_traced();
    const bool has_failed = fd < 0;
    if (mapping == nullptr || path == nullptr || is_unreadable(has_failed)) return;
    const unsigned device = device_of_path(mapping, directory, path);
    if (!has_failed) note_opened(fd, device);
    const Cell cell(mapping, device);
    cell.add(has_failed ? kOpensFailed : is_directory ? kDirectoryOpens : kOpens);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_by_name(const Stopwatch& watch, int directory, const char* path, Counter counter, bool has_failed) {
    char* mapping = watch.mapping_if_traced();
    if (mapping == nullptr || path == nullptr || is_unreadable(has_failed)) return;
    const Cell cell(mapping, device_of_path(mapping, directory, path));
    cell.add(counter);
    if (has_failed && counter == kStats) cell.add(kStatsFailed);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_stat(const Stopwatch& watch, unsigned device, bool has_failed) {
    const Cell cell(watch.mapping_if_traced(), device);
    cell.add(kStats);
    if (has_failed) cell.add(kStatsFailed);
    watch.stop(cell, kMetadataNanoseconds);
}

void count_by_descriptor(const Stopwatch& watch, int fd, Counter counter, uint64_t amount, Counter time) {
    char* mapping = watch.mapping_if_traced();
    if (mapping == nullptr) return;
    const DescriptorState state = looked_up_for(mapping, fd, 0);
    if (!state.is_file()) return;
    descriptor(fd)->store(state);
    const Cell cell(mapping, state.device());
    cell.add(counter, amount);
    watch.stop(cell, time);
}

void count_close(const Stopwatch& watch, DescriptorState before) {
    char* mapping = watch.mapping_if_traced();
    if (mapping == nullptr || !before.is_file()) return;
    const Cell cell(mapping, before.device());
    cell.add(kCloses);
    watch.stop(cell, kMetadataNanoseconds);
}

}  // namespace belay::iotrace::preload
