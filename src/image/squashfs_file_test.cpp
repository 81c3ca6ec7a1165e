#include "image/squashfs_file.h"

#include <cerrno>
#include <sqfs/error.h>

#include <gtest/gtest.h>

namespace belay::image {
namespace {

core::Error error_of(SquashfsFile& file, int code) {
    return file.failure(code, "write", "image.squashfs").error();
}

TEST(image, failures_of_libsquashfs_keep_their_number) {
    SquashfsFile file(-1, 0);
    const core::Error no_memory = error_of(file, SQFS_ERROR_ALLOC);
    EXPECT_EQ(no_memory.errno_value(), ENOMEM);
    EXPECT_EQ(no_memory.message(), "cannot write image.squashfs: Cannot allocate memory");
    const core::Error damaged = error_of(file, SQFS_ERROR_CORRUPTED);
    EXPECT_EQ(damaged.errno_value(), 0);
    EXPECT_EQ(damaged.message(), "cannot write image.squashfs: it is damaged");
    char byte = 0;
    const int code = file.interface.read_at(&file.interface, 0, &byte, 1);
    EXPECT_EQ(code, SQFS_ERROR_IO);
    EXPECT_EQ(error_of(file, code).errno_value(), EBADF) << "what the system call said";
}

}  // namespace
}  // namespace belay::image
