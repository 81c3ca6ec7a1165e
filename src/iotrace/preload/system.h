// System calls without a library: they neither touch errno nor are seen by who else wraps the functions of
// libc.
#pragma once

#include <sys/syscall.h>

namespace belay::iotrace::preload {

// Its result, or a negative errno value.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
    long result = 0;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "the numbers of system calls and how they are made are not known for this processor"
#endif
}

inline long as_long(const void* pointer) {
    return reinterpret_cast<long>(pointer);
}

// The errno of the calling thread; nothing of it is ever changed here, except where a function is missing
// (next.h).
extern "C" int* errno_place() __asm__("__errno_location") __attribute__((weak));

// Puts a function of ours in the place of that of libc: `ssize_t traced_read(int fd, ...)
// INSTEAD_OF("read");`. Under another name in C++, so that the headers' declarations, which differ from libc
// to libc in what they promise, do not matter.
#define INSTEAD_OF(name) __asm__(name) __attribute__((visibility("default")))
// The same function under another name: with files of 64 bits, and those of 32 that libc has are none on our
// processors.
#define ALSO_INSTEAD_OF(alias_name, name) \
    __asm__(alias_name) __attribute__((visibility("default"), alias(name)))

}  // namespace belay::iotrace::preload
