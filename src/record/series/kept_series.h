// Tables of series that a sealed record keeps beside its own: of what they were made is said in words, and
// where these are not the reader's, or a table cannot be read, they are made anew of the samples.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "record/series/spans.h"
#include "schema/schema.h"

#include <span>
#include <string>
#include <vector>

namespace belay::record {

// The words: the frame, the rule of spans.h, and how every column is declared, so that one which means
// something else is not taken for it.
std::string series_facts(std::span<const schema::SeriesTable> series, const SpanFrame& frame);

// Makes `tables`, which were written together, tables for query() and scan(). False, and none of them is one,
// where the record does not keep all of them with these facts, or one is damaged. Errors: kSystem.
core::Result<bool> attach_kept(Archive& archive, std::span<const schema::Table* const> tables,
                               const std::string& facts);

// The nodes that have rows in a table. Errors: kBadInput for a damaged one; kSystem.
core::Result<std::vector<std::string>> nodes_in(Archive& archive, const schema::Table& table);

}  // namespace belay::record
