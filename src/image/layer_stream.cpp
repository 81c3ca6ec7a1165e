#include "image/layer_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <zstd.h>
#include <zstd_errors.h>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

constexpr size_t kInputBytes = size_t{1} << 18;
constexpr size_t kOutputBytes = size_t{1} << 19;
constexpr size_t kMagicBytes = 6;
// Of an entry, beside its content: its own header, one for a long name, padding.
constexpr uint64_t kHeaderBytes = 4096;
constexpr int kZstdWindowLog = 27;  // 128 MiB: the most that zstd itself takes without being asked to

constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);
constexpr std::string_view kXzMagic(
    "\xfd"
    "7zXZ\0",
    6);
constexpr std::string_view kBzip2Magic("BZh", 3);

bool is_zstd(std::string_view start) {
    if (start.starts_with(kZstdMagic)) return true;
    // A skippable frame, with which zstd:chunked layers may begin: 0x184D2A5?, little endian.
    return start.size() >= 4 && (static_cast<unsigned char>(start[0]) & 0xf0U) == 0x50U &&
           start.substr(1, 3) == std::string_view("\x2a\x4d\x18", 3);
}

class PlainDecoder : public Decoder {
  public:
    Result<size_t> decode(std::string_view& input, char* out, size_t size, bool /*last*/) override {
        size_t n = std::min(size, input.size());
        std::memcpy(out, input.data(), n);
        input.remove_prefix(n);
        return n;
    }
    bool done() const override { return true; }
};

class GzipDecoder : public Decoder {
  public:
    GzipDecoder() : state_(std::make_unique<inflate_state>()) { begin_member(); }

    Result<size_t> decode(std::string_view& input, char* out, size_t size, bool last) override {
        if (finished_ && !input.empty()) {
            if (input.size() < kGzipMagic.size() && !last) return 0;  // cannot tell yet
            // Padding with zeros is usual behind gzip; anything else is not.
            if (input.find_first_not_of('\0') == std::string_view::npos || padding_) {
                padding_ = true;
                if (input.find_first_not_of('\0') != std::string_view::npos) return trailing();
                input = {};
                return 0;
            }
            if (!input.starts_with(kGzipMagic)) return trailing();
            begin_member();
        }
        state_->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(input.data()));
        state_->avail_in = static_cast<uint32_t>(input.size());
        state_->next_out = reinterpret_cast<uint8_t*>(out);
        state_->avail_out = static_cast<uint32_t>(size);
        int result = isal_inflate(state_.get());
        if (result == ISAL_INCORRECT_CHECKSUM) return system_error("its gzip checksum is wrong");
        if (result < 0) return system_error("its gzip data is damaged");
        input.remove_prefix(input.size() - state_->avail_in);
        finished_ = state_->block_state == ISAL_BLOCK_FINISH;
        return size - state_->avail_out;
    }
    bool done() const override { return finished_; }

  private:
    void begin_member() {
        isal_inflate_init(state_.get());
        state_->crc_flag = ISAL_GZIP;
        finished_ = false;
    }
    static core::Failure trailing() { return system_error("something else follows its gzip data"); }

    std::unique_ptr<inflate_state> state_;
    bool finished_ = false;
    bool padding_ = false;
};

class ZstdDecoder : public Decoder {
  public:
    ZstdDecoder() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
        if (stream_) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
    }

    Result<size_t> decode(std::string_view& input, char* out, size_t size, bool /*last*/) override {
        if (!stream_) return out_of_memory();
        ZSTD_inBuffer in{input.data(), input.size(), 0};
        ZSTD_outBuffer produced{out, size, 0};
        size_t result = ZSTD_decompressStream(stream_.get(), &produced, &in);
        if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) return out_of_memory();
        if (ZSTD_isError(result) != 0)
            return system_error("its zstd data is damaged: {}", ZSTD_getErrorName(result));
        input.remove_prefix(in.pos);
        if (in.pos > 0 || produced.pos > 0) between_frames_ = result == 0;
        return produced.pos;
    }
    bool done() const override { return between_frames_; }

  private:
    static core::Failure out_of_memory() { return system_error("out of memory").because_of_errno(ENOMEM); }

    std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
    bool between_frames_ = true;
};

Result<std::unique_ptr<Decoder>> decoder_for(std::string_view start) {
    if (start.starts_with(kGzipMagic)) return std::make_unique<GzipDecoder>();
    if (is_zstd(start)) return std::make_unique<ZstdDecoder>();
    if (start.starts_with(kXzMagic))
        return system_error("it is compressed with xz, which image layers do not use");
    if (start.starts_with(kBzip2Magic))
        return system_error("it is compressed with bzip2, which image layers do not use");
    return std::make_unique<PlainDecoder>();
}

}  // namespace

ByteSource read_from_descriptor(int fd, std::string name) {
    return
        [fd, name = std::move(name), offset = off_t{0}](char* buffer, size_t size) mutable -> Result<size_t> {
            while (true) {
                ssize_t n = pread(fd, buffer, size, offset);
                if (n < 0 && errno == EINTR) continue;
                if (n < 0) return core::errno_error(errno, fmt::format("cannot read {}", name));
                offset += n;
                return static_cast<size_t>(n);
            }
        };
}

ByteSource read_from_memory(std::string_view bytes) {
    return [bytes](char* buffer, size_t size) mutable -> Result<size_t> {
        size_t n = std::min(size, bytes.size());
        std::memcpy(buffer, bytes.data(), n);
        bytes.remove_prefix(n);
        return n;
    };
}

Result<LayerStream> LayerStream::open(ByteSource source, const ImportLimits& limits, uint64_t whole_bytes) {
    LayerStream out(std::move(source), limits, whole_bytes);
    while (out.unused_.size() < kMagicBytes && !out.at_end_) BELAY_CHECK(out.refill());
    BELAY_TRY(decoder, decoder_for(out.unused_));
    out.decoder_ = std::move(decoder);
    out.output_.resize(kOutputBytes);
    return out;
}

// Adds input behind what is unused.
Result<> LayerStream::refill() {
    std::string kept(unused_);
    size_t old = kept.size();
    kept.resize(old + kInputBytes);
    BELAY_TRY(n, source_(kept.data() + old, kInputBytes));
    kept.resize(old + n);
    at_end_ = n == 0;
    compressed_bytes_ += n;
    input_ = std::move(kept);
    unused_ = input_;
    return {};
}

Result<> LayerStream::check_ratio(uint64_t unpacked_bytes) const {
    const uint64_t packed_bytes = std::max(compressed_bytes_, whole_bytes_);
    if (unpacked_bytes > limits_.ratio_floor_bytes &&
        unpacked_bytes / limits_.compression_ratio > packed_bytes)
        return system_error("it unpacks to more than {} times its size", limits_.compression_ratio);
    return {};
}

Result<> LayerStream::check_limits() const {
    if (tar_bytes_ > limits_.total_bytes && tar_bytes_ - limits_.total_bytes > limits_.entries * kHeaderBytes)
        return system_error("its tar has more than {} bytes", limits_.total_bytes);
    return check_ratio(tar_bytes_);
}

Result<std::string_view> LayerStream::next() {
    while (true) {
        size_t before = unused_.size();
        BELAY_TRY(n, decoder_->decode(unused_, output_.data(), output_.size(), at_end_));
        if (n > 0) {
            std::string_view produced = std::string_view(output_).substr(0, n);
            hash_.update(produced);
            tar_bytes_ += n;
            BELAY_CHECK(check_limits());
            return produced;
        }
        if (at_end_ && unused_.size() == before) {
            if (!decoder_->done() || !unused_.empty()) return system_error("it ends early");
            return std::string_view();
        }
        if (!at_end_ && (unused_.empty() || unused_.size() == before)) BELAY_CHECK(refill());
    }
}

Result<> LayerStream::drain() {
    while (true) {
        BELAY_TRY(bytes, next());
        if (bytes.empty()) return {};
    }
}

}  // namespace belay::image
