// What libsquashfs reads and writes: a descriptor, with the errno of what went wrong, which the library's own
// files lose.
#pragma once

#include "core/error.h"

#include <memory>
#include <sqfs/io.h>
#include <sqfs/predef.h>
#include <string>

namespace belay::image {

// Calls the destroy function that every object of libsquashfs has.
struct SquashfsDestroy {
    void operator()(void* object) const { sqfs_destroy(object); }
};
template <typename T>
using SquashfsPointer = std::unique_ptr<T, SquashfsDestroy>;

struct SquashfsFile {
    sqfs_file_t interface;  // first, so that a pointer to it is one to this
    int fd = -1;            // borrowed
    sqfs_u64 size = 0;
    int failed_errno = 0;

    explicit SquashfsFile(int descriptor, sqfs_u64 bytes);
    SquashfsFile(const SquashfsFile&) = delete;
    SquashfsFile& operator=(const SquashfsFile&) = delete;

    // "cannot WHAT NAME: why".
    core::Failure failure(int code, std::string_view what, const std::string& name) const;
};

}  // namespace belay::image
