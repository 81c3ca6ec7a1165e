// What the nodes of a copy tell each other, as bodies of transfer's messages; numbers are big-endian. Pure. Every message
// carries a MAC (transfer/session.h, link.h): the checksums here find faults of memory and disks.
//
// Each node has a connection to rank 0, which tells it where it stands and hears how far it is:
//
//   kJoin      node → 0    data_port:u32
//   kStart     0 → node    what follows is StartOrder
//   kAlive     both ways   every few seconds
//   kProgress  node → 0    bytes:u64 that it holds
//   kDone      node → 0    CopyFigures: everything is there, published
//   kFailed    node → 0    core/error_codec.h; the node leaves
//   kEnd       0 → node    empty, or core/error_codec.h: why there is nothing more to wait for
//
// and one to the node from which it takes the copy, its parent:
//
//   kAskPlan   to parent   empty
//   kPlanPiece from parent bytes of the plan (layout.h), from its beginning, in order
//   kHave      to parent   what it holds (chunk_state.h); the others come then, as the parent gets them
//   kChunk     from parent chunk:u64, crc32c:u32 of the content, crc32c:u32 of the 12 bytes before, content
//   kAgain     to parent   chunk:u64, whose content came damaged
//   kAllThere  from parent empty: of all chunks, what was held has been compared and what was not has been sent
//   kAlive     from parent
#pragma once

#include "core/error.h"
#include "core/hash.h"
#include "core/time.h"
#include "transfer/handshake.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

enum : uint8_t {
    kJoin = transfer::kFirstFreeType,
    kStart,
    kProgress,
    kDone,
    kFailed,
    kEnd,
    kAlive,
    kAskPlan,
    kPlanPiece,
    kHave,
    kChunk,
    kAgain,
    kAllThere,
};

// Where a node can be asked for the copy.
struct CopyPeer {
    uint32_t rank = 0;
    std::string address = {};  // empty: of rank 0, as the node that is told knows it
    uint16_t port = 0;
    bool operator==(const CopyPeer&) const = default;
};

struct StartOrder {
    core::Sha256Digest plan{};  // SHA-256 of the encoded plan
    uint64_t plan_bytes = 0;
    uint64_t chunk_bytes = 0;
    uint64_t rate = 0;  // bytes a second at most over each connection; 0: no limit
    std::string mark =
        {};  // a name that rank 0 left at its destination, which no other node may find at its own
    std::vector<CopyPeer> ancestors = {};  // the parent first, rank 0 last
    bool operator==(const StartOrder&) const = default;
};

// What a node did.
struct CopyFigures {
    uint64_t received_bytes = 0;  // of chunks, over the network; of rank 0, read from the source
    uint64_t resumed_chunks = 0;  // that it held already
    uint64_t refetched = 0;       // times that a chunk came damaged and was asked for again
    core::Duration elapsed{};     // from the plan to the published copy
    bool operator==(const CopyFigures&) const = default;
};

struct ChunkHead {
    uint64_t chunk = 0;
    uint32_t checksum = 0;
    bool operator==(const ChunkHead&) const = default;
};
inline constexpr size_t kChunkHeadBytes = 16;
inline constexpr size_t kPlanPieceBytes = size_t{1} << 20;

std::string encode_join(uint16_t data_port);
std::string encode_start(const StartOrder& order);
std::string encode_number(uint64_t number);  // kProgress, kAgain
std::string encode_figures(const CopyFigures& figures);
std::string encode_chunk_head(const ChunkHead& head);

// Of any bytes. Errors: kSystem for anything else.
core::Result<uint16_t> decode_join(std::string_view body);
core::Result<StartOrder> decode_start(std::string_view body);
core::Result<uint64_t> decode_number(std::string_view body);
core::Result<CopyFigures> decode_figures(std::string_view body);
// From the front of a kChunk; the content follows. Errors: kSystem also where the head was changed on its
// way.
core::Result<ChunkHead> decode_chunk_head(std::string_view body);

}  // namespace belay::stage
