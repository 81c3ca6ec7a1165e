#include "iotrace/preload/descriptors.h"

#include "iotrace/preload/paths.h"
#include "iotrace/preload/system.h"
#include "iotrace/preload/trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::iotrace::preload {

Descriptor descriptors[kDescriptors];

namespace {

// A symbolic link may lead to another device than the one of its directory, and to ask for each file would
// make opening a sixth slower. So the kernel is asked when a file is used for the fourth time or for this
// much at once; most programs ask by themselves before (fstat), and we hear the answer.
constexpr unsigned kUsesWithoutProof = 4;
constexpr uint64_t kBytesWithoutProof = uint64_t{64} << 10;

std::atomic<unsigned> highest = 0;

void set(Descriptor& entry, unsigned fd, DescriptorState state) {
    entry.store(state);
    if (fd > highest.load(std::memory_order_relaxed)) highest.store(fd, std::memory_order_relaxed);
}

DescriptorState state_for(mode_t mode, unsigned device) {
    const bool is_file = S_ISREG(mode) || S_ISDIR(mode);
    return DescriptorState(is_file ? DescriptorState::kKnown : DescriptorState::kIgnored, device,
                           S_ISDIR(mode));
}

[[gnu::cold, gnu::noinline]] DescriptorState ask(int fd) {
    FileFacts facts;
    if (!ask_kernel(fd, "", facts)) return DescriptorState(DescriptorState::kUnknown, kNoDevice);
    const bool counts = S_ISREG(facts.mode) || S_ISDIR(facts.mode);
    return state_for(facts.mode, counts ? index_of_device(facts.device) : kNoDevice);
}

}  // namespace

DescriptorState looked_up(int fd) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr) return DescriptorState(DescriptorState::kIgnored, kNoDevice);
    const DescriptorState known = entry->load();
    if (__builtin_expect(known.kind() != DescriptorState::kUnknown, 1)) return known;
    DescriptorState state = ask(fd);
    if (state.is_file()) {
        // Of a directory the kernel tells no number of entries, but a mark of its own.
        const long position = state.is_directory() ? 0 : system_call(SYS_lseek, fd, 0, SEEK_CUR);
        const uint64_t begin = position > 0 ? static_cast<uint64_t>(position) : 0;
        entry->position.store(begin, std::memory_order_relaxed);
        state = state.with_last_read_end(begin);
    }
    set(*entry, static_cast<unsigned>(fd), state);
    return state;
}

DescriptorState look_up_for(int fd, uint64_t bytes) {
    const DescriptorState state = looked_up(fd);
    if (state.kind() != DescriptorState::kAssumed) return state;
    if (state.uses() + 1 < kUsesWithoutProof && bytes < kBytesWithoutProof) return state.used();
    const DescriptorState asked = ask(fd);
    if (asked.kind() == DescriptorState::kUnknown) return state;
    return asked.with_last_read_end(state.last_read_end());
}

void note_opened(int fd, unsigned device) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr) return;
    entry->position.store(0, std::memory_order_relaxed);
    set(*entry, static_cast<unsigned>(fd), DescriptorState(DescriptorState::kAssumed, device));
}

void note_facts(int fd, mode_t mode, unsigned device) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr) return;
    const DescriptorState before = entry->load();
    if (before.kind() != DescriptorState::kAssumed)
        return;  // known, or its position must be asked for as well
    entry->store(state_for(mode, device).with_last_read_end(before.last_read_end()));
}

DescriptorState forget(int fd) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr) return DescriptorState(DescriptorState::kIgnored, kNoDevice);
    const DescriptorState before = entry->load();
    if (before.kind() != DescriptorState::kUnknown) entry->store(DescriptorState(0));
    return before;
}

void forget_from(unsigned first, unsigned last) {
    const unsigned end = highest.load(std::memory_order_relaxed);
    for (unsigned fd = first; fd <= last && fd <= end; ++fd) forget(static_cast<int>(fd));
}

}  // namespace belay::iotrace::preload
