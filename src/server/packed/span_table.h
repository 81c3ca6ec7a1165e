// Tables of spans as they are stored: a row for each thing and span of time, with what the samples in it come to. Made from
// SampledTable, so they follow the schema.
//
//   time, node, keys, labels, first_sample, last_sample, then of each column c:
//     of a state:    c.min c.max c.mean c.last c.count
//     of a counter:  c.first c.last c.increase c.count
#pragma once

#include "schema/schema.h"
#include "server/packed/sampled_table.h"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct SpanColumns {
    size_t min = 0, max = 0, mean = 0;  // of a state
    size_t first = 0, increase = 0;     // of a counter
    size_t last = 0, count = 0;
};

class SpanTable {
  public:
    explicit SpanTable(const SampledTable& sampled);
    SpanTable(const SpanTable&) = delete;  // the table refers to the names
    SpanTable& operator=(const SpanTable&) = delete;

    const SampledTable& sampled() const { return *sampled_; }
    const schema::Table& table() const { return table_; }
    // Where the keys, the labels and the columns of sampled() stand.
    const std::vector<size_t>& keys() const { return keys_; }
    const std::vector<size_t>& labels() const { return labels_; }
    const std::vector<SpanColumns>& columns() const { return places_; }
    // When the first and the last sample of the row were taken, to a millisecond.
    size_t first_sample() const { return first_sample_; }
    size_t last_sample() const { return last_sample_; }

  private:
    size_t add(std::string name, schema::ColumnType type);

    const SampledTable* sampled_;
    std::deque<std::string> names_;
    std::vector<schema::Column> columns_;
    schema::Table table_;
    std::vector<size_t> keys_, labels_;
    std::vector<SpanColumns> places_;
    size_t first_sample_ = 0, last_sample_ = 0;
};

// nullptr for a table without samples.
const SpanTable* span_table(const schema::Table& of);
// The span table whose rows these are; nullptr for any other.
const SpanTable* span_table_of_rows(const schema::Table& table);
// Of the tables of the schema that have samples, in its order.
std::span<const schema::Table* const> span_tables();

}  // namespace belay::server
