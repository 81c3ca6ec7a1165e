#include "stage/copy/chunk_state.h"

#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

namespace belay::stage {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kMagic = "BLYBITS1";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 56;
constexpr unsigned kBitsPerByte = 8;

}  // namespace

void ChunkState::set(uint64_t chunk, uint32_t checksum) {
    if (!has_[chunk]) ++held_;
    has_[chunk] = true;
    checksums_[chunk] = checksum;
}

void ChunkState::clear(uint64_t chunk) {
    if (has_[chunk]) --held_;
    has_[chunk] = false;
    checksums_[chunk] = 0;
}

uint64_t most_state_bytes(uint64_t chunks) {
    return kHeaderBytes + (chunks + kBitsPerByte - 1) / kBitsPerByte + (chunks + 1) * sizeof(uint32_t);
}

std::string encode_state(const ChunkState& state, const core::Sha256Digest& plan) {
    std::string out(kMagic);
    put_little(out, kVersion);
    put_little(out, uint32_t{0});
    out += core::bytes_of(plan);
    put_little(out, state.chunks());
    std::string bits((state.chunks() + kBitsPerByte - 1) / kBitsPerByte, '\0');
    for (uint64_t i = 0; i < state.chunks(); ++i)
        if (state.has(i))
            bits[i / kBitsPerByte] =
                static_cast<char>(static_cast<uint8_t>(bits[i / kBitsPerByte]) | 1U << (i % kBitsPerByte));
    out += bits;
    for (uint64_t i = 0; i < state.chunks(); ++i)
        if (const auto checksum = state.checksum(i)) put_little(out, *checksum);
    put_little(out, shard::crc32c(out));
    return out;
}

Result<ChunkState> decode_state(std::string_view bytes, const core::Sha256Digest& plan, uint64_t chunks) {
    if (bytes.size() < kHeaderBytes + sizeof(uint32_t) || !bytes.starts_with(kMagic))
        return bad_input("not the state of a copy");
    const std::string_view checked = bytes.substr(0, bytes.size() - sizeof(uint32_t));
    if (LittleReader(bytes.substr(checked.size())).u32() != shard::crc32c(checked))
        return bad_input("the state of a copy is damaged: its checksum differs");
    LittleReader reader(checked.substr(kMagic.size()));
    if (const uint32_t version = reader.u32(); version != kVersion)
        return bad_input("unknown version {} of the state of a copy: this program knows {}", version,
                         kVersion);
    if (reader.u32() != 0) return bad_input("the state of a copy has flags that this program does not know");
    if (reader.bytes(plan.size()) != core::bytes_of(plan) || reader.u64() != chunks)
        return bad_input("the state is that of another copy");
    const std::string_view bits = reader.bytes((chunks + kBitsPerByte - 1) / kBitsPerByte);
    if (!reader.ok()) return bad_input("the state of a copy ends too early");
    ChunkState state(chunks);
    for (uint64_t i = 0; i < bits.size() * kBitsPerByte; ++i) {
        if ((static_cast<uint8_t>(bits[i / kBitsPerByte]) >> (i % kBitsPerByte) & 1U) == 0) continue;
        if (i >= chunks) return bad_input("the state of a copy holds chunks that it does not have");
        state.set(i, reader.u32());
    }
    if (!reader.complete()) return bad_input("the state of a copy has another length than it states");
    return state;
}

}  // namespace belay::stage
