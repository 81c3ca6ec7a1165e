#include "stream/unpack.h"

#include <cerrno>

#include <zstd.h>
#include <zstd_errors.h>

namespace belay::stream {

using core::bad_input;

namespace {

core::Failure out_of_memory() {
    return core::system_error("out of memory").because_of_errno(ENOMEM);
}

}  // namespace

void Unpacker::Free::operator()(ZSTD_DCtx_s* context) const {
    ZSTD_freeDCtx(context);
}

core::Result<std::string> Unpacker::unpack(const BlockHeader& header, std::string_view stored) {
    if (checksum(stored) != header.payload_crc) return bad_input("checksum mismatch");
    if (header.kind != kRowsBlock && header.raw_bytes > kMaxJsonBytes)
        return bad_input("more than {} bytes in a block without rows", kMaxJsonBytes);
    if (header.compression == kPlain) return std::string(stored);
    if (header.compression != kZstd) return bad_input("unknown compression");
    std::string raw(header.raw_bytes, '\0');
    if (!context_) context_.reset(ZSTD_createDCtx());
    if (!context_) return out_of_memory();
    const size_t size =
        ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), stored.data(), stored.size());
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) return out_of_memory();
    if (ZSTD_isError(size) != 0 || size != raw.size()) return bad_input("damaged compression");
    return raw;
}

}  // namespace belay::stream
