#include "bench/compliance/log_buffer.h"

#include "bench/compliance/check.h"
#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::bench {

core::Result<std::string_view> LogBuffer::read(const std::filesystem::path& path) {
    BELAY_TRY(file, core::open_file(path, O_RDONLY | O_NONBLOCK));
    struct stat status{};
    if (fstat(file.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (!S_ISREG(status.st_mode)) {  // a pipe, which has an end but no size
        BELAY_TRY(bytes, core::read_opened(file.get(), path, kMostLogBytes));
        buffer_ = std::move(bytes);
        return buffer_;
    }
    const auto size = static_cast<size_t>(status.st_size);
    // A byte more than is read: at the end of the file one is asked for in vain.
    const auto grow = [&](size_t least) {
        buffer_.resize(std::min(std::max(least, 2 * buffer_.size()), kMostLogBytes + 1));
    };
    if (buffer_.size() <= size && size <= kMostLogBytes) grow(size + 1);
    size_t have = 0;
    while (true) {  // until its end, which may have moved
        if (have > kMostLogBytes || size > kMostLogBytes)
            return core::bad_input("{} has more than {} bytes", path.string(), kMostLogBytes);
        if (have == buffer_.size()) grow(have + 1);
        const ssize_t count =
            pread(file.get(), buffer_.data() + have, buffer_.size() - have, static_cast<off_t>(have));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
        if (count == 0) return std::string_view(buffer_).substr(0, have);
        have += static_cast<size_t>(count);
    }
}

}  // namespace belay::bench
