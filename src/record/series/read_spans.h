// The samples of a table of a record as spans of time, node by node, in bounded memory: of one node for each
// thread.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "record/series/spans.h"
#include "schema/schema.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

struct SpanInput {
    Sampled kind = Sampled::kState;
    std::string_view sql;  // over the columns of the table
};

// One periodic table, or a part of it.
struct SpanSource {
    const schema::Table* table = nullptr;
    std::string_view filter;       // SQL: which rows; empty: all
    std::span<const size_t> keys;  // columns that tell one counter of a node from another
    std::string_view born;         // SQL, microseconds: when the counters were 0; empty: nobody knows
    std::span<const SpanInput> inputs;
    std::span<const SpanOutput> outputs;
};

// Called once for each node with rows, by output; of several nodes at the same time. Where the rows turn out
// not to lie in order, the nodes are told of again, and what was said before does not hold.
using SpanConsumer = std::function<void(std::string_view node, std::span<const Spans> outputs)>;

// `nodes`: those of the record, by which the work is shared out. Errors: kBadInput for damaged tables;
// kSystem.
core::Result<> read_spans(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                          std::vector<std::string> nodes, const SpanConsumer& consume);

}  // namespace belay::record
