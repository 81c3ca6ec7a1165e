// The session block of a segment: who wrote it, and by which schema its rows are encoded.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "schema/schema.h"
#include "stream/segment.h"

#include <optional>
#include <string_view>
#include <vector>

namespace belay::stream {

// The writer's schema as the session block states it, matched with ours.
struct WrittenColumn {
    schema::ColumnType type;
    std::optional<size_t> index;  // in our table; nothing if we do not know the column
};
struct WrittenTable {
    const schema::Table* table = nullptr;  // nullptr if we do not know the table
    std::vector<WrittenColumn> columns;
    bool knows_all() const;
};
using WrittenSchema = std::vector<WrittenTable>;

// What a segment of this version says; also assumed where the session block was lost.
WrittenSchema own_schema();

struct WrittenSession {
    Session session;
    WrittenSchema schema;
};

// Errors: kBadInput for what is no session, or has more tables or columns than segment_format.h allows.
core::Result<WrittenSession> decode_session(std::string_view payload);
// When the recorder closed the segment. Errors: kBadInput.
core::Result<core::Time> decode_end(std::string_view payload);

}  // namespace belay::stream
