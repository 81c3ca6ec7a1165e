#include "image/squashfs_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sqfs/error.h>
#include <unistd.h>

namespace belay::image {

namespace {

SquashfsFile& self(const sqfs_file_t* file) {
    return *reinterpret_cast<SquashfsFile*>(const_cast<sqfs_file_t*>(file));
}

int read_at(sqfs_file_t* file, sqfs_u64 offset, void* buffer, size_t size) {
    auto* out = static_cast<char*>(buffer);
    while (size > 0) {
        ssize_t n = pread(self(file).fd, out, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) self(file).failed_errno = errno;
        if (n < 0) return SQFS_ERROR_IO;
        if (n == 0) return SQFS_ERROR_OUT_OF_BOUNDS;
        out += n;
        offset += static_cast<sqfs_u64>(n);
        size -= static_cast<size_t>(n);
    }
    return 0;
}

int write_at(sqfs_file_t* file, sqfs_u64 offset, const void* buffer, size_t size) {
    const auto* in = static_cast<const char*>(buffer);
    while (size > 0) {
        ssize_t n = pwrite(self(file).fd, in, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) self(file).failed_errno = errno;
        if (n < 0) return SQFS_ERROR_IO;
        in += n;
        offset += static_cast<sqfs_u64>(n);
        size -= static_cast<size_t>(n);
        self(file).size = std::max(self(file).size, offset);
    }
    return 0;
}

sqfs_u64 get_size(const sqfs_file_t* file) {
    return self(file).size;
}

int truncate_to(sqfs_file_t* file, sqfs_u64 size) {
    if (ftruncate(self(file).fd, static_cast<off_t>(size)) != 0) {
        self(file).failed_errno = errno;
        return SQFS_ERROR_IO;
    }
    self(file).size = size;
    return 0;
}

// What the codes of sqfs/error.h mean to a reader.
constexpr std::array kReasons = {
    std::pair{static_cast<int>(SQFS_ERROR_COMPRESSOR), "its compressed data is damaged"},
    std::pair{static_cast<int>(SQFS_ERROR_CORRUPTED), "it is damaged"},
    std::pair{static_cast<int>(SQFS_ERROR_UNSUPPORTED), "it uses a feature that is not supported"},
    std::pair{static_cast<int>(SQFS_ERROR_OVERFLOW), "it holds a number that is too large"},
    std::pair{static_cast<int>(SQFS_ERROR_OUT_OF_BOUNDS), "it ends early"},
    std::pair{static_cast<int>(SFQS_ERROR_SUPER_MAGIC), "it is not a SquashFS file"},
    std::pair{static_cast<int>(SFQS_ERROR_SUPER_VERSION), "its SquashFS version is not 4.0"},
    std::pair{static_cast<int>(SQFS_ERROR_SUPER_BLOCK_SIZE), "its block size is not usable"},
};

}  // namespace

SquashfsFile::SquashfsFile(int descriptor, sqfs_u64 bytes) : interface{}, fd(descriptor), size(bytes) {
    interface.base.destroy = [](sqfs_object_t*) {};
    interface.base.copy = [](const sqfs_object_t*) -> sqfs_object_t* { return nullptr; };
    interface.read_at = read_at;
    interface.write_at = write_at;
    interface.get_size = get_size;
    interface.truncate = truncate_to;
}

core::Failure SquashfsFile::failure(int code, std::string_view what, const std::string& name) const {
    if (failed_errno != 0) return core::errno_error(failed_errno, fmt::format("cannot {} {}", what, name));
    if (code == SQFS_ERROR_ALLOC) return core::errno_error(ENOMEM, fmt::format("cannot {} {}", what, name));
    for (auto [known, reason] : kReasons)
        if (known == code) return core::system_error("cannot {} {}: {}", what, name, reason);
    return core::system_error("cannot {} {}: libsquashfs error {}", what, name, code);
}

}  // namespace belay::image
