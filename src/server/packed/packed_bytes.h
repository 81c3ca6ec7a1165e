// Bytes that are stored as they are or compressed, whichever is smaller:
//
//   packed := mode:u8 bytes:varint rest      (mode 0: as they are; 1: a frame of zstd, behind its unpacked size as varint; 2: one byte,
//                                             as often as its count, a varint, says)
//
// Each long column of a part, and each long plane of bytes of a column, is compressed by itself: a code that is made for all of them
// fits none.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::server {

// `level`: of zstd.
void put_packed_bytes(std::string& out, std::string_view bytes, int level);
// Takes them off the front of `in`. Errors: kBadInput where they are no such bytes, or more than `most` unpacked; kSystem for want of
// memory.
core::Result<std::string> take_packed_bytes(std::string_view& in, size_t most);

}  // namespace belay::server
