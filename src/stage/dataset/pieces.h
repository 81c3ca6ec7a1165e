// A file of any size, read in pieces.
#pragma once

#include "core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <unistd.h>

namespace belay::stage {

inline constexpr size_t kPieceBytes = size_t{4} << 20;

// Calls take(piece) for `bytes` bytes from `offset`, or up to the end of the file. Errors: kSystem.
template <typename Take>
core::Result<> read_pieces(int fd, const std::string& name, uint64_t offset, uint64_t bytes,
                           const Take& take) {
    std::string buffer(std::clamp<uint64_t>(bytes, 1, kPieceBytes), '\0');
    while (bytes > 0) {
        const ssize_t size =
            pread(fd, buffer.data(), std::min<uint64_t>(buffer.size(), bytes), static_cast<off_t>(offset));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", name));
        if (size == 0) return {};
        take(std::string_view(buffer).substr(0, static_cast<size_t>(size)));
        offset += static_cast<uint64_t>(size);
        bytes -= static_cast<uint64_t>(size);
    }
    return {};
}

}  // namespace belay::stage
