#include "server/packed/packed_bytes.h"

#include "stream/column_codec.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <zstd.h>
#include <zstd_errors.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

enum PackedMode : uint8_t { kAsTheyAre = 0, kFrame = 1, kOneByte = 2 };
// Fewer bytes are better packed with others (PackedWriter does that): a frame has a head of its own. By benchmarks/server_pack.cpp, 64
// to 128 are best for spans, and up to 512 make no difference for rows.
constexpr size_t kLeastFrame = 128;

struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Making one takes longer than what is done with it.
ZSTD_CCtx* compressor(int level) {
    thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    thread_local int last = -1;
    if (context && level != std::exchange(last, level)) {
        ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);  // it is written before the frame
    }
    return context.get();
}

ZSTD_DCtx* decompressor() {
    thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    return context.get();
}

void put_as_they_are(std::string& out, std::string_view bytes) {
    out.push_back(static_cast<char>(kAsTheyAre));
    stream::put_varint(out, bytes.size());
    out += bytes;
}

}  // namespace

void put_packed_bytes(std::string& out, std::string_view bytes, int level) {
    constexpr size_t kFewBytes = 3;
    const bool is_one = bytes.size() > kFewBytes &&
                        std::ranges::all_of(bytes, [&](char byte) { return byte == bytes.front(); });
    if (is_one) {
        out.push_back(static_cast<char>(kOneByte));
        stream::put_varint(out, bytes.size());
        out.push_back(bytes.front());
        return;
    }
    if (bytes.size() < kLeastFrame) return put_as_they_are(out, bytes);
    thread_local std::string frame;  // kept for its memory
    frame.resize(ZSTD_compressBound(bytes.size()));
    ZSTD_CCtx* const context = compressor(level);
    const size_t size = context == nullptr
                            ? bytes.size()
                            : ZSTD_compress2(context, frame.data(), frame.size(), bytes.data(), bytes.size());
    constexpr size_t kSizeBytes = 3;
    if (ZSTD_isError(size) == 0 && size + kSizeBytes < bytes.size()) {
        out.push_back(static_cast<char>(kFrame));
        stream::put_varint(out, size);
        stream::put_varint(out, bytes.size());
        out.append(frame.data(), size);
        return;
    }
    put_as_they_are(out, bytes);
}

Result<std::string> take_packed_bytes(std::string_view& in, size_t most) {
    if (in.empty()) return bad_input("packed bytes end early");
    const auto mode = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    BELAY_TRY(size, stream::take_varint(in));
    uint64_t unpacked = size;
    if (mode == kFrame) {
        BELAY_TRY(stated, stream::take_varint(in));
        unpacked = stated;
    }
    if (unpacked > most) return bad_input("more bytes than there can be");
    if ((mode == kOneByte ? 1 : size) > in.size()) return bad_input("packed bytes end early");
    if (mode == kOneByte) {
        std::string bytes(static_cast<size_t>(size), in[0]);
        in.remove_prefix(1);
        return bytes;
    }
    const std::string_view stored = in.substr(0, static_cast<size_t>(size));
    in.remove_prefix(static_cast<size_t>(size));
    if (mode == kAsTheyAre) return std::string(stored);
    if (mode != kFrame) return bad_input("bytes that are packed in an unknown way");
    std::string bytes(static_cast<size_t>(unpacked), '\0');
    ZSTD_DCtx* const context = decompressor();
    if (context == nullptr) return core::system_error("out of memory").because_of_errno(ENOMEM);
    const size_t got = ZSTD_decompressDCtx(context, bytes.data(), bytes.size(), stored.data(), stored.size());
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return core::system_error("out of memory").because_of_errno(ENOMEM);
    if (ZSTD_isError(got) != 0 || got != bytes.size()) return bad_input("damaged compression");
    return bytes;
}

}  // namespace belay::server
