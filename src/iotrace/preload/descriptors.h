// What is known of the descriptors of this process: on which device the file lies, and where the last read
// ended. A table by number, of which nothing needs to be right: what was opened, copied or handed over unseen
// is looked up when it is first used, and a mistake costs counts, no more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace belay::iotrace::preload {

inline constexpr size_t kDescriptors = 65536;  // those with higher numbers are not traced

class DescriptorState {
  public:
    enum Kind : uint64_t {
        kUnknown = 0,
        kIgnored = 1,  // a pipe, a socket, a terminal ...
        kAssumed = 2,  // a file or directory, on the device of the directory in which its name was found
        kKnown = 3,    // the kernel has said on which
    };
    constexpr explicit DescriptorState(uint64_t bits) : bits_(bits) {}
    DescriptorState(Kind kind, unsigned device, bool is_directory = false)
        : bits_(kind | (is_directory ? kDirectory : 0) | uint64_t{device} << 8) {}

    uint64_t bits() const { return bits_; }
    Kind kind() const { return static_cast<Kind>(bits_ & 3); }
    bool is_file() const { return (bits_ & kAssumed) != 0; }
    bool is_directory() const { return (bits_ & kDirectory) != 0; }
    bool is_certain() const { return (bits_ & kIgnored) != 0; }
    unsigned device() const { return bits_ >> 8 & 0xff; }

    // Modulo 2^48: of a file of 256 TiB and more, one read in so many would be wrong.
    uint64_t last_read_end() const { return bits_ >> 16; }
    DescriptorState with_last_read_end(uint64_t end) const {
        return DescriptorState((bits_ & 0xffff) | end << 16);
    }
    static uint64_t comparable(uint64_t offset) { return offset & ((uint64_t{1} << 48) - 1); }

    // Calls since it was opened, up to 15.
    unsigned uses() const { return bits_ >> 4 & 0xf; }
    DescriptorState used() const { return uses() == 15 ? *this : DescriptorState(bits_ + 0x10); }

  private:
    static constexpr uint64_t kDirectory = 4;
    uint64_t bits_;
};

struct Descriptor {
    std::atomic<uint64_t> state = 0;
    std::atomic<uint64_t> position = 0;  // where read(2) goes on; of a directory, entries since it was opened

    DescriptorState load() const { return DescriptorState(state.load(std::memory_order_relaxed)); }
    void store(DescriptorState next) { state.store(next.bits(), std::memory_order_relaxed); }
};

extern Descriptor descriptors[kDescriptors];

// nullptr for one that is not traced.
inline Descriptor* descriptor(int fd) {
    return static_cast<unsigned>(fd) < kDescriptors ? &descriptors[fd] : nullptr;
}

// What is known of it, or is asked of the kernel now. kIgnored for what is not traced.
DescriptorState looked_up(int fd);
// Likewise, for a call that has moved `bytes`: what was only assumed of a file that is used much is asked of
// the kernel.
[[gnu::cold]] DescriptorState look_up_for(int fd, uint64_t bytes);
[[gnu::always_inline]] inline DescriptorState looked_up_for(int fd, uint64_t bytes) {
    if (static_cast<unsigned>(fd) < kDescriptors) {
        const DescriptorState state = descriptors[fd].load();
        if (__builtin_expect(state.is_certain(), 1)) return state;
    }
    return look_up_for(fd, bytes);
}

// It has been opened by a name in a directory on that device.
void note_opened(int fd, unsigned device);
// The kernel has said what it is.
void note_facts(int fd, mode_t mode, unsigned device);
// Before it is closed, or becomes another one.
DescriptorState forget(int fd);
void forget_from(unsigned first, unsigned last);

}  // namespace belay::iotrace::preload
