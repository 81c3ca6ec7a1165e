#include "stream/segment_bytes.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stream {

using core::Result;

namespace {

constexpr size_t kWindow = size_t{1} << 20;  // what one read takes, where a block is not larger

}  // namespace

Result<SegmentBytes> SegmentBytes::of_file(int fd, std::string name) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return core::errno_error(errno, fmt::format("cannot look at {}", name));
    return SegmentBytes(fd, std::move(name), static_cast<uint64_t>(status.st_size));
}

Result<std::string_view> SegmentBytes::at(uint64_t offset, size_t wanted) {
    offset = std::min(offset, size_);
    wanted = static_cast<size_t>(std::min<uint64_t>(wanted, size_ - offset));
    if (fd_ < 0) return all_.substr(static_cast<size_t>(offset));
    const bool is_held = offset >= window_at_ && offset + wanted <= window_at_ + window_.size();
    if (!is_held) {
        window_.resize(static_cast<size_t>(std::min<uint64_t>(std::max(wanted, kWindow), size_ - offset)));
        window_at_ = offset;
        size_t have = 0;
        while (have < window_.size()) {
            const ssize_t size =
                pread(fd_, window_.data() + have, window_.size() - have, static_cast<off_t>(offset + have));
            if (size < 0 && errno == EINTR) continue;
            if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", name_));
            if (size == 0) size_ = offset + have;  // it has been cut off meanwhile
            if (size == 0) break;
            have += static_cast<size_t>(size);
        }
        window_.resize(have);
    }
    return std::string_view(window_).substr(static_cast<size_t>(offset - window_at_));
}

uint64_t SegmentBytes::skip_hole(uint64_t offset) const {
    if (fd_ < 0 || offset >= size_) return offset;
    const off_t data = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? size_ : offset;  // the rest is a hole, or nobody knows of holes
    return std::min(static_cast<uint64_t>(data), size_);
}

}  // namespace belay::stream
