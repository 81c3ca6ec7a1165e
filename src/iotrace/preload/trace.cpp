#include "iotrace/preload/trace.h"

#include "iotrace/preload/next.h"
#include "iotrace/preload/system.h"

#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace belay::iotrace::preload {

__thread Thread this_thread;

namespace {

extern "C" char** environment __asm__("environ") __attribute__((weak));

enum State : uint32_t { kNotTried, kTrying, kOff, kOn };
std::atomic<uint32_t> state = kNotTried;
std::atomic<char*> shared = nullptr;  // the mapping

// Calls until a thread of a program that is not traced looks again, which only costs time. More than any
// other countdown.
constexpr uint32_t kLongTime = 1u << 30;

BELAY_NEXT Next<int (*)(clockid_t, timespec*)> next_clock_gettime("clock_gettime");

// The value of NAME=VALUE if it is the one of kTraceVariable.
const char* value_of(const char* variable) {
    for (const char* name = kTraceVariable; *name != '\0'; ++name, ++variable)
        if (*variable != *name) return nullptr;
    return *variable == '=' && variable[1] != '\0' ? variable + 1 : nullptr;
}

const char* file_in(char** variables) {
    for (; *variables != nullptr; ++variables)
        if (const char* value = value_of(*variables)) return value;
    return nullptr;
}

template <typename T>
T number_at(const char* mapping, size_t place) {
    return *reinterpret_cast<const T*>(mapping + place);
}

bool is_ours(const char* mapping) {
    return number_at<uint64_t>(mapping, kMagicPlace) == kMagic &&
           number_at<uint32_t>(mapping, kVersionPlace) == kVersion &&
           number_at<uint32_t>(mapping, kHeaderBytesPlace) == kHeaderBytes &&
           number_at<uint32_t>(mapping, kDevicesPlace) == kDevices &&
           number_at<uint32_t>(mapping, kSlotsPlace) == kSlots &&
           number_at<uint32_t>(mapping, kCellWordsPlace) == kCellWords &&
           number_at<uint32_t>(mapping, kSizeBinsPlace) == kSizeBins;
}

// A hole in a file on a full file system would end the process by SIGBUS when something is written there: all
// of it must be allocated.
bool is_whole(int fd) {
    struct stat facts;
    if (system_call(SYS_fstat, fd, as_long(&facts)) != 0) return false;
    // Another user could cut it off under us, which would end the program.
    if (facts.st_uid != static_cast<uid_t>(system_call(SYS_geteuid))) return false;
    return S_ISREG(facts.st_mode) && facts.st_size == static_cast<off_t>(kFileBytes) &&
           static_cast<uint64_t>(facts.st_blocks) * 512 >= kFileBytes;
}

char* map_file(const char* path) {
    const long fd =
        system_call(SYS_openat, AT_FDCWD, as_long(path), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return nullptr;
    long place = -1;
    if (is_whole(static_cast<int>(fd)))
        place = system_call(SYS_mmap, 0, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    system_call(SYS_close, fd);
    if (place < 0 && place > -4096) return nullptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the kernel
    auto* mapping = reinterpret_cast<char*>(place);
    if (is_ours(mapping)) return mapping;
    system_call(SYS_munmap, place, kFileBytes);
    return nullptr;
}

int no_error = 0;

std::atomic<uint64_t>& word_at(size_t place) {
    return *reinterpret_cast<std::atomic<uint64_t>*>(shared.load(std::memory_order_relaxed) + place);
}

// Maps the file that the environment names. Another thread, or a handler that interrupts this, finds kTrying:
// its call is not counted. Before libc has an environment, nothing is tried.
State begin() {
    if (&environment == nullptr || environment == nullptr) return kNotTried;
    uint32_t before = kNotTried;
    if (!state.compare_exchange_strong(before, kTrying, std::memory_order_acquire))
        return static_cast<State>(before);
    const char* path = file_in(environment);
    char* mapping = path != nullptr ? map_file(path) : nullptr;
    shared.store(mapping, std::memory_order_relaxed);
    if (mapping != nullptr) word_at(kProgramsPlace).fetch_add(1, std::memory_order_relaxed);
    state.store(mapping != nullptr ? kOn : kOff, std::memory_order_release);
    return mapping != nullptr ? kOn : kOff;
}

__attribute__((constructor)) void begin_early() {
    find_all();
    begin();
}

// Slots go round: more than kSlots threads share them, and still none of their counts is lost. What is drawn
// begins with a number of its own in each thread (Fibonacci hashing), so that of many short programs every
// 64th call is timed, too.
void attach(Thread& thread) {
    const uint64_t number = word_at(kThreadsPlace).fetch_add(1, std::memory_order_relaxed);
    thread.error = errno_place != nullptr ? errno_place() : &no_error;
    thread.random = static_cast<uint32_t>((number + 1) * 0x9e3779b97f4a7c15 >> 32) | 1;
    thread.cells = shared.load(std::memory_order_relaxed) + cell_place(0, number % kSlots);
}

// Marsaglia 2003, "Xorshift RNGs", section 4: 13, 17, 5. The upper bits are used, which differ most.
uint32_t draw(Thread& thread) {
    const uint32_t drawn = (thread.random >> 24) % kCallsPerTiming;
    thread.random ^= thread.random << 13;
    thread.random ^= thread.random >> 17;
    thread.random ^= thread.random << 5;
    return drawn;
}

// Each kCallsPerTiming calls of a thread are a block, in which one is timed. A thread comes here with its
// first call, at which it is attached, and with those that are timed. Whether this one is.
bool go_on(Thread& thread) {
    if (thread.cells == nullptr) {
        const State state = begin();
        thread.calls_until_slow = state == kOff ? kLongTime : 0;
        if (state != kOn) return false;
        attach(thread);
        thread.place = draw(thread);
        if (thread.place != 0) {
            thread.calls_until_slow = thread.place - 1;
            return false;
        }
    }
    const uint32_t next = draw(thread);
    thread.calls_until_slow = kCallsPerTiming - thread.place + next - 1;
    thread.place = next;
    return true;
}

}  // namespace

// All look from the first place on and take the first that is free, so no device is there twice.
unsigned index_of_device(uint64_t packed) {
    for (unsigned index = kNoDevice + 1; index < kOtherDevices; ++index) {
        std::atomic<uint64_t>& place = word_at(kDeviceTablePlace + index * sizeof(uint64_t));
        uint64_t there = place.load(std::memory_order_relaxed);
        if (there == packed) return index;
        if (there == 0 &&
            (place.compare_exchange_strong(there, packed, std::memory_order_relaxed) || there == packed))
            return index;
    }
    return kOtherDevices;
}

uint64_t monotonic_nanoseconds() {
    timespec now{};
    if (const auto clock = next_clock_gettime.get()) clock(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Calls of kAlways come here also when none is due. The countdown has gone below 0 when one is, and further
// if a handler came between.
uint64_t Stopwatch::go_slow(When when) {
    Thread& thread = this_thread;
    const bool is_due = thread.calls_until_slow > kLongTime && go_on(thread);
    if (thread.cells == nullptr || when == kNever || (when == kSometimes && !is_due)) return 0;
    return monotonic_nanoseconds() << 1 | (when == kSometimes ? 1 : 0);
}

void Stopwatch::add_time(const Cell& cell, Counter counter, uint64_t started) {
    const uint64_t now = monotonic_nanoseconds(), start = started >> 1;
    if (now > start) cell.add(counter, (now - start) * ((started & 1) != 0 ? kCallsPerTiming : 1));
}

}  // namespace belay::iotrace::preload
