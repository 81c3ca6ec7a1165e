// Which chunks of a copy a node holds, and their checksums. Pure.
//
// As the file "state" of a copy that is being made, and as what a node tells the one from which it takes the rest; numbers are
// little-endian:
//
//   header     56 bytes      BLYBITS1, version:u32 = 1, zero:u32, plan:u8[32] (SHA-256 of the plan), count:u64
//   bits       ceil(count/8) chunk i is bit i % 8 of byte i / 8
//   checksums  4 bytes each  crc32c:u32 of each chunk whose bit is set, in their order
//   trailer    4 bytes       crc32c:u32 of all before
#pragma once

#include "core/error.h"
#include "core/hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

class ChunkState {
  public:
    explicit ChunkState(uint64_t chunks) : has_(chunks, false), checksums_(chunks, 0) {}

    uint64_t chunks() const { return has_.size(); }
    uint64_t held() const { return held_; }
    bool is_complete() const { return held_ == has_.size(); }
    bool has(uint64_t chunk) const { return has_[chunk]; }
    // Nothing where it is not held.
    std::optional<uint32_t> checksum(uint64_t chunk) const {
        if (!has_[chunk]) return std::nullopt;
        return checksums_[chunk];
    }
    void set(uint64_t chunk, uint32_t checksum);
    void clear(uint64_t chunk);
    bool operator==(const ChunkState&) const = default;

  private:
    std::vector<bool> has_;
    std::vector<uint32_t> checksums_;  // CRC32C; 0 where not held
    uint64_t held_ = 0;
};

// The longest encoding of `chunks` chunks.
uint64_t most_state_bytes(uint64_t chunks);

std::string encode_state(const ChunkState& state, const core::Sha256Digest& plan);
// Of any bytes. Errors: kBadInput for what is damaged, or of another plan or number of chunks.
core::Result<ChunkState> decode_state(std::string_view bytes, const core::Sha256Digest& plan,
                                      uint64_t chunks);

}  // namespace belay::stage
