// How the values of one column become bytes in a segment, and back. docs/formats/segment.md describes the
// bytes.
#pragma once

#include "core/error.h"
#include "stream/batch.h"

#include <string>
#include <string_view>

namespace belay::stream {

// Appends the encoding of one column with `rows` values to `out`.
void encode_column(schema::ColumnType type, const ColumnValues& values, size_t rows, std::string& out);

// Takes one column off the front of `in`; `values` is overwritten with `rows` values. Any bytes are safe to
// pass; texts come out as valid UTF-8, and their bytes are taken off `text_budget`. Errors: kBadInput if the
// bytes are no encoding of `rows` values, or ask for more text than that.
core::Result<> decode_column(schema::ColumnType type, std::string_view& in, size_t rows, ColumnValues& values,
                             uint64_t& text_budget);

// Unsigned LEB128, also used for the counts around columns.
void put_varint(std::string& out, uint64_t value);
core::Result<uint64_t> take_varint(std::string_view& in);

}  // namespace belay::stream
