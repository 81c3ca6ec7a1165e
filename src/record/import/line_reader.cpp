#include "record/import/line_reader.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::record {

using core::Result;

namespace {

constexpr size_t kChunk = size_t{1} << 18;

std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// A pipe or a terminal would let whoever reads it wait.
Result<core::Descriptor> open_regular(const std::filesystem::path& path) {
    BELAY_TRY(fd, core::open_file(path, O_RDONLY | O_NONBLOCK));
    struct stat facts{};
    if (fstat(fd.get(), &facts) != 0)
        return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
    if (!S_ISREG(facts.st_mode)) return core::bad_input("{} is not a regular file", path.string());
    return fd;
}

}  // namespace

Result<LineReader> LineReader::open(const std::filesystem::path& path) {
    BELAY_TRY(fd, open_regular(path));
    return LineReader(std::move(fd), path.string());
}

Result<> LineReader::fill() {
    buffer_.erase(0, position_);
    position_ = 0;
    size_t size = buffer_.size();
    buffer_.resize(size + kChunk);
    ssize_t got = 0;
    do got = read(fd_.get(), buffer_.data() + size, kChunk);
    while (got < 0 && errno == EINTR);
    buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return core::errno_error(errno, fmt::format("cannot read {}", name_));
    bytes_ += static_cast<uint64_t>(got);
    at_end_ = got == 0;
    return {};
}

Line LineReader::take(size_t length, bool ended) {
    std::string_view text = std::string_view(buffer_).substr(position_, length);
    position_ += length + (ended ? 1 : 0);
    return {.text = without_return(text.substr(0, kLongestLine)), .number = ++number_, .ended = ended};
}

Result<std::optional<Line>> LineReader::next() {
    size_t searched = 0;  // of what is left in the buffer
    while (true) {
        size_t end = buffer_.find('\n', position_ + searched);
        if (end != std::string::npos) return take(end - position_, true);
        // Of a line that has no end for a long time only the beginning is kept.
        size_t left = buffer_.size() - position_;
        if (left > kLongestLine + kChunk) {
            buffer_.resize(position_ + kLongestLine);
            left = kLongestLine;
        }
        searched = left;
        if (at_end_) {
            if (left == 0) return std::nullopt;
            return take(left, false);
        }
        BELAY_CHECK(fill());
    }
}

Result<std::string> last_line(const std::filesystem::path& path) {
    BELAY_TRY(fd, open_regular(path));
    off_t size = lseek(fd.get(), 0, SEEK_END);
    off_t from = std::max<off_t>(0, size - static_cast<off_t>(LineReader::kLongestLine));
    std::string tail(static_cast<size_t>(std::max<off_t>(0, size - from)), '\0');
    if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
    size_t have = 0;
    for (ssize_t got = 1; got != 0 && have < tail.size();) {
        got = pread(fd.get(), tail.data() + have, tail.size() - have, from + static_cast<off_t>(have));
        if (got < 0 && errno != EINTR)
            return core::errno_error(errno, fmt::format("cannot read {}", path.string()));
        have += static_cast<size_t>(std::max<ssize_t>(got, 0));
    }
    tail.resize(have);
    size_t end = tail.rfind('\n');
    if (end == std::string::npos || end == 0) return std::string();
    size_t start = tail.rfind('\n', end - 1);
    if (start == std::string::npos) {
        if (from > 0) return std::string();
        start = 0;
    } else {
        ++start;
    }
    return std::string(without_return(std::string_view(tail).substr(start, end - start)));
}

}  // namespace belay::record
