#include "stage/copy/wire.h"

#include "shard/crc32c.h"
#include "stage/copy/layout.h"

#include <limits>

namespace belay::stage {

namespace {

using core::Result;
using core::system_error;
using transfer::BodyReader;
using transfer::put_u32;
using transfer::put_u64;

constexpr size_t kMostAncestors = size_t{1} << 16;
constexpr size_t kMostTextBytes = 1024;  // of an address or a name
constexpr size_t kLeastPeerBytes = 3 * sizeof(uint32_t);

void put_text(std::string& out, std::string_view text) {
    put_u32(out, static_cast<uint32_t>(text.size()));
    out += text;
}

core::Failure wrong(std::string_view what, std::string_view body) {
    return system_error("invalid {} ({} bytes)", what, body.size());
}

Result<std::string> read_text(BodyReader& reader) {
    const uint32_t size = reader.u32();
    if (size > kMostTextBytes) return system_error("invalid name ({} bytes)", size);
    return std::string(reader.bytes(size));
}

Result<uint16_t> read_port(BodyReader& reader) {
    const uint32_t port = reader.u32();
    if (port == 0 || port > std::numeric_limits<uint16_t>::max())
        return system_error("invalid port {}", port);
    return static_cast<uint16_t>(port);
}

}  // namespace

std::string encode_join(uint16_t data_port) {
    std::string out;
    put_u32(out, data_port);
    return out;
}

Result<uint16_t> decode_join(std::string_view body) {
    BodyReader reader(body);
    auto port = read_port(reader);
    if (!reader.complete()) return wrong("message of a node that joins", body);
    return port;
}

std::string encode_start(const StartOrder& order) {
    std::string out(core::bytes_of(order.plan));
    put_u64(out, order.plan_bytes);
    put_u64(out, order.chunk_bytes);
    put_u64(out, order.rate);
    put_text(out, order.mark);
    put_u32(out, static_cast<uint32_t>(order.ancestors.size()));
    for (const CopyPeer& peer : order.ancestors) {
        put_u32(out, peer.rank);
        put_u32(out, peer.port);
        put_text(out, peer.address);
    }
    return out;
}

Result<StartOrder> decode_start(std::string_view body) {
    BodyReader reader(body);
    StartOrder order;
    const std::string_view digest = reader.bytes(order.plan.size());
    std::copy(digest.begin(), digest.end(), reinterpret_cast<char*>(order.plan.data()));
    order.plan_bytes = reader.u64();
    order.chunk_bytes = reader.u64();
    order.rate = reader.u64();
    BELAY_TRY(mark, read_text(reader));
    order.mark = std::move(mark);
    const uint32_t count = reader.u32();
    if (!reader.ok() || count == 0 || count > kMostAncestors ||
        count > reader.rest().size() / kLeastPeerBytes)
        return wrong("order to start", body);
    if (order.plan_bytes > kMostPlanBytes) return system_error("invalid plan ({} bytes)", order.plan_bytes);
    if (order.chunk_bytes < kLeastChunk || order.chunk_bytes > kMostChunk)
        return system_error("invalid chunk size ({} bytes)", order.chunk_bytes);
    for (uint32_t i = 0; i < count; ++i) {
        CopyPeer& peer = order.ancestors.emplace_back();
        peer.rank = reader.u32();
        BELAY_TRY(port, read_port(reader));
        BELAY_TRY(address, read_text(reader));
        peer.port = port;
        peer.address = std::move(address);
    }
    if (!reader.complete()) return wrong("order to start", body);
    return order;
}

std::string encode_number(uint64_t number) {
    std::string out;
    put_u64(out, number);
    return out;
}

Result<uint64_t> decode_number(std::string_view body) {
    BodyReader reader(body);
    const uint64_t number = reader.u64();
    if (!reader.complete()) return wrong("number", body);
    return number;
}

std::string encode_figures(const CopyFigures& figures) {
    std::string out;
    for (const uint64_t number : {figures.received_bytes, figures.resumed_chunks, figures.refetched,
                                  static_cast<uint64_t>(figures.elapsed.count())})
        put_u64(out, number);
    return out;
}

Result<CopyFigures> decode_figures(std::string_view body) {
    BodyReader reader(body);
    CopyFigures figures{
        .received_bytes = reader.u64(), .resumed_chunks = reader.u64(), .refetched = reader.u64()};
    const uint64_t elapsed = reader.u64();
    if (!reader.complete() || elapsed > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return wrong("report of a node", body);
    figures.elapsed = core::Duration(static_cast<int64_t>(elapsed));
    return figures;
}

std::string encode_chunk_head(const ChunkHead& head) {
    std::string out;
    put_u64(out, head.chunk);
    put_u32(out, head.checksum);
    put_u32(out, shard::crc32c(out));
    return out;
}

Result<ChunkHead> decode_chunk_head(std::string_view body) {
    BodyReader reader(body.substr(0, kChunkHeadBytes));
    const ChunkHead head{.chunk = reader.u64(), .checksum = reader.u32()};
    const uint32_t check = reader.u32();
    if (!reader.complete()) return wrong("chunk", body);
    // Otherwise a content that is whole could be taken for another chunk's.
    if (check != shard::crc32c(body.substr(0, kChunkHeadBytes - sizeof check)))
        return system_error("the head of a chunk was changed on its way");
    return head;
}

}  // namespace belay::stage
