// Rows of a table as the payload of a part, and back: column by column, each found without the others.
//
//   payload := columns:varint column*
//   column  := bytes:varint encoding:u8 rest                                            (bytes: of what follows them)
//   encoding 0: rest is the column as in segments (stream/column_codec.h), packed (packed_bytes.h)
//   encoding 1: which rows are null, then whole numbers (number_codec.h)
//   encoding 2: exponent:u8, then the same: a value is the number / 10^exponent, the nearest double
//   which rows are null: 0 none, 1 all, or 2 and one bit for each row, 1 for present, packed
//
// What was rounded to some digits is a decimal: as such, values lie close together, while the bits of their doubles do not. All of it
// comes back to the bit.
#pragma once

#include "core/error.h"
#include "stream/batch.h"
#include "stream/segment_session.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// The batch has at most stream::kMaxBlockRows rows. `level`: of zstd.
std::string encode_packed_rows(const stream::Batch& batch, int level);

// Which columns of a table are decoded; time and node always are.
class WantedColumns {
  public:
    static WantedColumns all() { return {}; }
    // By their places in the table.
    static WantedColumns only(std::vector<size_t> columns);
    bool has(size_t column) const;

  private:
    bool all_ = true;
    std::vector<size_t> columns_;  // sorted
};

// Overwrites the batch, which is of `written.table`, with `rows` rows; columns that are not wanted, or not known to the writer, are
// null. Any bytes are safe to pass. Errors: kBadInput where they are no such payload; kSystem for want of memory.
core::Result<> decode_packed_rows(std::string_view payload, size_t rows, const stream::WrittenTable& written,
                                  const WantedColumns& wanted, stream::Batch& batch);

}  // namespace belay::server
