// CRC32C (Castagnoli, RFC 3720 appendix B.4): the checksum of a record in a shard. By ISA-L, which uses the
// processor's own instruction on x86-64 and aarch64.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::shard {

// Of bytes that come piece by piece: crc32c(b, crc32c(a)) is crc32c(a + b).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace belay::shard
