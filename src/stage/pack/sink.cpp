#include "stage/pack/sink.h"

#include "core/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::stage {

namespace {

using core::Result;

// The largest page of the machines that Belay is for (64 KiB on GH200): Lustre wants whole pages, others less.
constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr size_t kBufferBytes = 4 * Sink::kRoomBytes;
static_assert(kBufferBytes % kBlockBytes == 0 && Sink::kRoomBytes + kBlockBytes <= kBufferBytes);

char* aligned_buffer() {
    auto* memory = static_cast<char*>(std::aligned_alloc(kBlockBytes, kBufferBytes));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

Sink::Sink(int fd, std::string name, std::atomic<uint64_t>& done_bytes)
    : fd_(fd),
      name_(std::move(name)),
      done_bytes_(done_bytes),
      buffer_(aligned_buffer()),
      direct_(set_direct(true)) {}

Result<std::span<char>> Sink::room(size_t bytes) {
    if (bytes > kBufferBytes - filled_) BELAY_CHECK(write_blocks());
    return std::span(buffer_.get() + filled_, bytes);
}

Result<> Sink::put(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, kRoomBytes);
        BELAY_TRY(place, room(piece.size()));
        std::ranges::copy(piece, place.begin());
        take(piece.size());
        bytes.remove_prefix(piece.size());
    }
    return {};
}

Result<> Sink::zeros(uint64_t count) {
    static constexpr std::array<char, 4096> kZeros{};
    while (count > 0) {
        const size_t piece = std::min<uint64_t>(count, kZeros.size());
        BELAY_CHECK(put({kZeros.data(), piece}));
        count -= piece;
    }
    return {};
}

Result<> Sink::finish() {
    BELAY_CHECK(write_blocks());
    if (direct_) direct_ = set_direct(false);
    return write({buffer_.get(), std::exchange(filled_, 0)});
}

// All whole blocks of the buffer; what is left of the last one comes first then.
Result<> Sink::write_blocks() {
    const size_t whole = filled_ / kBlockBytes * kBlockBytes;
    const size_t rest = filled_ - whole;
    filled_ = 0;
    BELAY_CHECK(write({buffer_.get(), whole}));
    std::memmove(buffer_.get(), buffer_.get() + whole, rest);
    filled_ = rest;
    return {};
}

Result<> Sink::write(std::string_view bytes) {
    hash_.update(bytes);
    auto written = core::write_all(fd_, bytes, name_);
    // Some file systems accept O_DIRECT and refuse what is written.
    if (!written && direct_ && written.error().errno_value() == EINVAL) {
        direct_ = set_direct(false);
        if (lseek(fd_, static_cast<off_t>(written_), SEEK_SET) < 0)
            return core::errno_error(errno, fmt::format("cannot write {}", name_));
        written = core::write_all(fd_, bytes, name_);
    }
    BELAY_CHECK(std::move(written));
    written_ += bytes.size();
    done_bytes_ += bytes.size();
    return {};
}

// Whether writes go past the page cache then.
bool Sink::set_direct(bool direct) {
    const int flags = fcntl(fd_, F_GETFL);
    if (flags < 0) return false;
    return fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && direct;
}

}  // namespace belay::stage
