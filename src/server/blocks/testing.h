// Streams made up for tests of this folder.
#pragma once

#include "core/time.h"
#include "schema/tables/event.h"
#include "stream/block_encoder.h"
#include "stream/cursor.h"
#include "stream/segment.h"

#include <cstdint>
#include <string>

namespace belay::server::testing {

inline const core::Time kBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

inline stream::Session session_of(const std::string& node = "n1", uint64_t first_block = 0) {
    return {.node = node,
            .start = kBegan,
            .boot = "b-" + node,
            .source = "agent",
            .began = kBegan,
            .first_block = first_block};
}

// A row whose task is the number of its block, a second after the one before.
inline stream::Batch row_of(uint64_t number, const std::string& node = "n1") {
    stream::Batch batch(schema::kEvent);
    batch.add_row(kBegan + std::chrono::seconds(number), node);
    batch.set(column(schema::kEvent, "task"), number);
    return batch;
}

// The blocks from `from` to `to` - 1 with a row each, as an agent uploads them; `first_block` is that of their file.
inline std::string piece_of(uint64_t from, uint64_t to, const std::string& node = "n1",
                            uint64_t first_block = 0) {
    std::string bytes = stream::encode_head(session_of(node, first_block));
    for (uint64_t i = from; i < to; ++i)
        for (const stream::RowsPayload& part : stream::encode_rows(row_of(i, node)))
            bytes += stream::encode_rows_block(part, static_cast<uint32_t>(i - first_block));
    return bytes;
}

}  // namespace belay::server::testing
