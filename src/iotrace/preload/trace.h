// What a process counts, in the mapping that it shares with the recorder (iotrace/layout.h). Every counter is
// added to by one relaxed atomic addition, from whichever thread, signal handler or forked child, so none is
// lost or counted twice; threads add in slots of their own as long as there are, so that they do not wait for
// each other.
#pragma once

#include "iotrace/layout.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::iotrace::preload {

// What a thread remembers; all 0 in a new one. A forked child has its one thread begin anew.
struct Thread {
    char* cells;                // of its slot, that of the first device; nullptr: its calls are not counted
    uint32_t calls_until_slow;  // that take the short way
    uint32_t random;
    uint32_t place;  // of the call that was timed last, among the kCallsPerTiming around it
    int* error;      // its errno
};
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

// One call of so many is timed, at a random place among them, and stands for all of them: so each call has
// the same chance, also the first ones of a program that makes few, and no pattern of calls can keep in step
// with it.
inline constexpr uint32_t kCallsPerTiming = 64;
// Calls of at least this take so long that a clock does not matter: each is timed.
inline constexpr size_t kAlwaysTimedBytes = size_t{256} << 10;

// The counters of the calling thread for one device.
class Cell {
  public:
    Cell(char* cells, unsigned device) : words_(cells + size_t{device} * kSlots * kCellBytes) {}
    void add(size_t word, uint64_t amount = 1) const {
        reinterpret_cast<std::atomic<uint64_t>*>(words_)[word].fetch_add(amount, std::memory_order_relaxed);
    }

  private:
    char* words_;
};

// The index of a device in the file's table, into which it is put; kOtherDevices if that is full.
unsigned index_of_device(uint64_t packed);

uint64_t monotonic_nanoseconds();

// Begins before a call. Of most calls it does next to nothing: what is made here runs with every read and
// write, which is why it keeps one number, and why the rest is looked up again when the call has returned.
class Stopwatch {
  public:
    enum When { kNever, kSometimes, kAlways };
    [[gnu::always_inline]] explicit Stopwatch(When when = kSometimes) {
        if (__builtin_expect(this_thread.calls_until_slow-- == 0 || when == kAlways, 0))
            started_ = go_slow(when);
    }
    [[gnu::always_inline]] explicit Stopwatch(size_t bytes)
        : Stopwatch(bytes >= kAlwaysTimedBytes ? kAlways : kSometimes) {}

    bool is_running() const { return __builtin_expect(started_ != 0, 0); }
    [[gnu::always_inline]] void stop(const Cell& cell, Counter counter) const {
        if (is_running()) add_time(cell, counter, started_);
    }

  private:
    [[gnu::cold]] static uint64_t go_slow(When when);
    [[gnu::cold]] static void add_time(const Cell& cell, Counter counter, uint64_t started);

    uint64_t started_ = 0;  // nanoseconds × 2, and 1 if the call stands for kCallsPerTiming; 0: not running
};

inline bool is_traced() {
    return this_thread.cells != nullptr;
}
inline int last_error() {
    return *this_thread.error;
}  // of a thread that is traced
inline Cell cell_of(unsigned device) {
    return {this_thread.cells, device};
}

// In a forked child, whose one thread is this.
inline void begin_anew() {
    this_thread = {};
}

}  // namespace belay::iotrace::preload
