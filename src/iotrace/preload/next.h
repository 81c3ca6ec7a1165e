// The functions behind ours: those that a program would call without this library, of libc or of another
// library that wraps it. As dlsym(RTLD_NEXT), but without memory from malloc (which may itself wait for us:
// jemalloc opens files when it begins), without a lock of its own, and the same with every libc.
#pragma once

#include "iotrace/preload/system.h"

#include <atomic>
#include <cerrno>

namespace belay::iotrace::preload {

// A function behind ours, once it was looked up.
struct NextFunction {
    const char* name;
    std::atomic<void*> found = nullptr;
};

// The first function of that name behind this library in the order of loading; else that of the name without
// "64", which is the same on our processors and the only one in newer musl. nullptr if there is none.
[[gnu::cold]] void* find_next(const char* name);

// All that are declared with BELAY_NEXT, at once: in a child of fork the dynamic linker may be locked by a
// thread that is not there.
void find_all();
#define BELAY_NEXT [[gnu::section("belay_next"), gnu::used]]

// `Function` is a pointer to a function. What is called before find_all() is looked up then.
template <typename Function>
class Next : NextFunction {
  public:
    constexpr explicit Next(const char* name_of_it) : NextFunction{name_of_it} {}

    Function get() {
        void* there = found.load(std::memory_order_relaxed);
        if (__builtin_expect(there != nullptr, 1)) return reinterpret_cast<Function>(there);
        there = find_next(name);
        found.store(there, std::memory_order_relaxed);
        return reinterpret_cast<Function>(there);
    }
};

// What a program is told where libc does not have a function that it calls all the same.
[[gnu::cold]] inline int not_there() {
    if (errno_place != nullptr) *errno_place() = ENOSYS;
    return -1;
}
// The result of a system call as a function of libc returns it.
inline long as_libc_returns(long result) {
    if (result >= 0 || result < -4095) return result;
    if (errno_place != nullptr) *errno_place() = static_cast<int>(-result);
    return -1;
}

}  // namespace belay::iotrace::preload
