#include "bench/compliance/log_buffer.h"

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
        BELAY_TRY(bytes, core::read_opened(file.get(), path, kLargestLog));
        buffer_ = std::move(bytes);
        return buffer_;
    }
    const auto size = static_cast<size_t>(status.st_size);
    if (buffer_.size() <= size && size < kLargestLog) buffer_.resize(std::max(size + 1, 2 * buffer_.size()));
    size_t have = 0;
    while (true) {  // until its end, which may have moved
        if (have >= kLargestLog || size >= kLargestLog)
            return core::bad_input("{} has more than {} bytes", path.string(), kLargestLog);
        if (have == buffer_.size()) buffer_.resize(2 * have);
        const ssize_t count =
            pread(file.get(), buffer_.data() + have, buffer_.size() - have, static_cast<off_t>(have));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
        if (count == 0) return std::string_view(buffer_).substr(0, have);
        have += static_cast<size_t>(count);
    }
}

}  // namespace belay::bench
