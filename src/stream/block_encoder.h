// Rows as the blocks of a segment, without a file: whoever writes or sends a stream makes its bytes here.
//
//   std::string bytes = encode_head(session);                             // block 0
//   for (const RowsPayload& part : encode_rows(batch)) bytes += encode_rows_block(part, sequence++);
//   bytes += encode_end(now, sequence);                                   // a whole segment
#pragma once

#include "core/time.h"
#include "stream/batch.h"
#include "stream/segment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::stream {

// The file header, and the session as the block of sequence 0.
std::string encode_head(const Session& session);

// Rows that one block holds, not yet compressed.
struct RowsPayload {
    uint16_t table = 0;
    uint32_t rows = 0;
    std::string bytes;
};
// One, or as many as it takes for a reader to believe each of them; none for an empty batch.
std::vector<RowsPayload> encode_rows(const Batch& batch);
std::string encode_rows_block(const RowsPayload& payload, uint32_t sequence);

// When the segment was closed.
std::string encode_end(core::Time at, uint32_t sequence);

}  // namespace belay::stream
