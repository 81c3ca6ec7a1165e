// What a process counts, in the mapping that it shares with the recorder (iotrace/layout.h). Every counter is added to by one
// relaxed atomic addition, from whichever thread, signal handler or forked child, so none is lost or counted twice; threads
// add in slots of their own as long as there are, so that they do not wait for each other.
#pragma once

#include "iotrace/layout.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::iotrace::preload {

// What a thread remembers. `process` is that of the attach; a forked child differs and attaches again.
struct Thread {
    uint32_t process;
    uint32_t calls;  // that could have been timed
    uint32_t timed;  // which of the next kCallsPerTiming is
    uint32_t random;
    size_t slot;
};

// One call of so many is timed, at a random place among them, and stands for all of them.
inline constexpr uint32_t kCallsPerTiming = 64;
// Calls of at least this take so long that a clock does not matter: each is timed.
inline constexpr size_t kAlwaysTimedBytes = size_t{256} << 10;

extern std::atomic<char*> shared;       // the mapping; nullptr while nothing is traced
extern std::atomic<uint32_t> process_number;  // from 1; another one in each forked child
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

// Maps the file that the environment names. Does nothing when it was called before, or libc has no environment yet.
void begin();
void attach(Thread& thread, char* mapping);

inline char* mapping() {
    char* found = shared.load(std::memory_order_acquire);
    if (__builtin_expect(found != nullptr, 1)) return found;
    begin();
    return shared.load(std::memory_order_acquire);
}

inline Thread& attached(char* mapping) {
    Thread& thread = this_thread;
    if (__builtin_expect(thread.process != process_number.load(std::memory_order_relaxed), 0)) attach(thread, mapping);
    return thread;
}

// The index of a device in the file's table, into which it is put; kOtherDevices if that is full.
unsigned index_of_device(char* mapping, uint64_t packed);

inline std::atomic<uint64_t>& word_at(char* mapping, size_t place) {
    return *reinterpret_cast<std::atomic<uint64_t>*>(mapping + place);
}

// The counters of the calling thread for one device.
class Cell {
  public:
    Cell(char* mapping, unsigned device) : words_(mapping + cell_place(device, attached(mapping).slot)) {}
    void add(size_t word, uint64_t amount = 1) const {
        word_at(words_, word * sizeof(uint64_t)).fetch_add(amount, std::memory_order_relaxed);
    }

  private:
    char* words_;
};

uint64_t monotonic_nanoseconds();

// Begins before a call. Of most calls it does nothing.
class Stopwatch {
  public:
    enum When { kNever, kSometimes, kAlways };
    explicit Stopwatch(When when = kSometimes) : mapping_(mapping()) {
        if (mapping_ == nullptr || when == kNever) return;
        if (when == kAlways)
            start(1);
        else if (is_due())
            start(kCallsPerTiming);
    }
    explicit Stopwatch(size_t bytes) : Stopwatch(bytes >= kAlwaysTimedBytes ? kAlways : kSometimes) {}

    bool is_running() const { return weight_ != 0; }
    // nullptr: nothing is traced, and there is nothing to count.
    char* mapping_if_traced() const { return mapping_; }
    void stop(const Cell& cell, Counter counter) const {
        if (__builtin_expect(weight_ != 0, 0)) add_time(cell, counter);
    }

  private:
    char* mapping_;
    uint32_t weight_ = 0;
    uint64_t start_ = 0;

    // In each run of kCallsPerTiming calls of a thread at one place, drawn anew: so every call has the same chance, also
    // the first ones of a program that makes few, and no pattern of calls can keep in step with it.
    bool is_due() {
        Thread& thread = attached(mapping_);
        const uint32_t place = thread.calls++ % kCallsPerTiming;
        if (__builtin_expect(place == 0, 0)) draw(thread);
        return __builtin_expect(place == thread.timed, 0);
    }
    static void draw(Thread& thread);
    void start(uint32_t weight) {
        weight_ = weight;
        start_ = monotonic_nanoseconds();
    }
    void add_time(const Cell& cell, Counter counter) const;
};

}  // namespace belay::iotrace::preload
