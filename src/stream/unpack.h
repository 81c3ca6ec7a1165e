// The payload of a block as it was before it was compressed.
#pragma once

#include "core/error.h"
#include "stream/segment_format.h"

#include <memory>
#include <string>
#include <string_view>

struct ZSTD_DCtx_s;

namespace belay::stream {

// Keeps what zstd needs; making it takes longer than a small block. Not thread-safe.
class Unpacker {
  public:
    // Errors: kBadInput for bytes that are damaged, or more than a block of this kind may have.
    core::Result<std::string> unpack(const BlockHeader& header, std::string_view stored);

  private:
    struct Free {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace belay::stream
