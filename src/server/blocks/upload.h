// What an agent uploads: a piece of a node stream, looked through before anything of it is kept. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/blocks/received.h"
#include "stream/segment.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct UploadedBlock {
    uint64_t number = 0;     // in the stream
    std::string_view bytes;  // header and payload, of the piece
    uint64_t rows = 0;
    // The earliest and the latest time of its rows; nothing where it has none that this version knows.
    std::optional<core::Time> first_time, last_time;
};

// A row of `allocation` about a node as a whole: a step of a job is there, or was. Rows about its GPUs say no more of that.
struct StatedShare {
    uint64_t block = 0;  // its number in the stream
    core::Time told;     // when the row was written
    int64_t job_id = 0;
    std::string step_id;  // empty: the batch script
    int64_t restart = 0;
    core::Time t0;
    std::optional<core::Time> t1;  // nothing while it runs
};

// All views are of the piece.
struct Upload {
    stream::Session session;
    std::string_view head;              // file header and session block
    std::vector<UploadedBlock> blocks;  // in the order of their numbers
    uint64_t rows = 0;
    std::vector<StatedShare> shares;  // in the order of their blocks; of the session's cluster and node

    // From the first block to the last; that of its session alone where it has none.
    BlockRun run() const;
};

// An upload beyond this is refused before it is read; what agents send is at most a block more than 4 MiB.
inline constexpr size_t kMaxUploadBytes = size_t{72} << 20;
// More than a node starts in days.
inline constexpr size_t kMaxStatedShares = 100'000;

// Errors: kBadInput for what is not a whole, undamaged piece: a damaged, foreign or repeated block, a session that
// names no node, names of a stream that are too long, rows of another node than the session's, more than kMaxStatedShares;
// kSystem, for want of memory.
core::Result<Upload> read_upload(std::string_view piece);

}  // namespace belay::server
