// Annexes of a sealed record: rows of tables that came later, such as what the health of a node was found to
// be after the job, or a second verdict. Each is a Parquet file of its owner's,
// RECORD/annexes/OWNER.TABLE.parquet, which only the owner replaces, as a whole; its rows stand in the table
// with those that were recorded.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stream/batch.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::record {

inline constexpr size_t kMostAnnexes = 64;  // that a reader opens of one record

struct AnnexName {
    std::string owner;
    const schema::Table* table = nullptr;
    bool operator==(const AnnexName&) const = default;
};

// "health.event.parquet", from within RECORD/annexes.
std::string annex_file(std::string_view owner, const schema::Table& table);
// Nothing for another name, or a table that takes none.
std::optional<AnnexName> parse_annex_file(std::string_view name);

// Writes the rows as the owner's annex of their table, in place of the one before, into a sealed record that
// claim_record() gave; an empty batch takes it away. Errors: kBadInput for an empty batch where there is
// none, an owner that is not a word of lower case, a table that takes no annexes, or too many of them;
// kSystem.
core::Result<> put_annex(const core::Directory& record, std::string_view owner, const stream::Batch& rows);

}  // namespace belay::record
