// The functions behind ours: those that a program would call without this library, of libc or of another library that
// wraps it. As dlsym(RTLD_NEXT), but without memory from malloc (which may itself wait for us: jemalloc opens files when it
// begins), without a lock of its own, and the same with every libc.
#pragma once

#include "iotrace/preload/system.h"

#include <atomic>
#include <cerrno>

namespace belay::iotrace::preload {

// The first function of that name behind this library in the order of loading; nullptr if there is none.
[[gnu::cold]] void* find_next(const char* name);

// `Function` is a pointer to a function. Looked up when it is first called.
template <typename Function>
class Next {
  public:
    constexpr explicit Next(const char* name) : name_(name) {}

    Function get() {
        Function found = found_.load(std::memory_order_relaxed);
        if (__builtin_expect(found != nullptr, 1)) return found;
        found = reinterpret_cast<Function>(find_next(name_));
        found_.store(found, std::memory_order_relaxed);
        return found;
    }

  private:
    const char* name_;
    std::atomic<Function> found_ = nullptr;
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
