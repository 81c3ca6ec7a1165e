// The periodic tables as spans are made of them: which columns tell one thing of a node from another, which are samples of it, and
// which of those count.
#pragma once

#include "schema/schema.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace belay::server {

struct SampledColumn {
    size_t column = 0;  // of the table
    schema::Sampled kind = schema::Sampled::kState;

    bool is_counter() const { return kind != schema::Sampled::kState; }
};

struct SampledTable {
    const schema::Table* table = nullptr;
    std::vector<size_t> keys;    // of one thing: (node,) device; process id and start
    std::vector<size_t> labels;  // what else is said of it, of which a span keeps the last
    std::optional<size_t> born;  // one of the keys: when its counters were 0
    std::vector<SampledColumn> columns;
};

// nullptr for a table without samples.
const SampledTable* sampled_table(const schema::Table& table);

}  // namespace belay::server
