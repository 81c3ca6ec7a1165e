// Rows of a batch in another order. Pure.
#pragma once

#include "stream/batch.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belay::server {

// The numbers of a batch's rows, in some order.
using RowOrder = std::vector<uint32_t>;

// By time; rows of one moment stay as they are.
RowOrder rows_by_time(const stream::Batch& batch);
// Of each row, which thing it is of: the things are counted in the order in which they are met.
std::vector<uint32_t> things_of(const stream::Batch& batch, std::span<const size_t> keys);
// `rows`, with those of one thing behind one another and else as they are: what lies close together then is alike.
RowOrder rows_by_thing(std::span<const uint32_t> rows, std::span<const uint32_t> things);
// The values of these columns in a row, as bytes: equal for rows of one thing.
std::string key_of(const stream::Batch& batch, std::span<const size_t> keys, size_t row);

// A batch with these rows.
stream::Batch gathered(const stream::Batch& batch, std::span<const uint32_t> rows);

// Nanoseconds since 1970; those of a row without a time are 0.
inline int64_t time_of(const stream::Batch& batch, size_t row) {
    return batch.values(0).integers[row];
}

}  // namespace belay::server
