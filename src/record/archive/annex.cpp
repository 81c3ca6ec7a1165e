#include "record/archive/annex.h"

#include "record/archive/parquet_file.h"
#include "record/archive/row_source.h"
#include "record/place.h"

#include <algorithm>

namespace belay::record {

using core::Result;

namespace {

constexpr std::string_view kSuffix = ".parquet";

// A word, so that it can be a file's name whoever reads it.
bool is_owner(std::string_view text) {
    constexpr size_t kLongest = 32;
    return !text.empty() && text.size() <= kLongest && text.front() >= 'a' && text.front() <= 'z' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
           });
}

Result<> check_room(const core::Directory& annexes, const std::string& file) {
    BELAY_TRY(names, annexes.list());
    const auto others = std::ranges::count_if(
        names, [&](const std::string& name) { return name != file && parse_annex_file(name).has_value(); });
    if (static_cast<size_t>(others) < kMostAnnexes) return {};
    return core::bad_input("{} holds {} annexes already, as many as are read", annexes.path().string(),
                           others);
}

}  // namespace

std::string annex_file(std::string_view owner, const schema::Table& table) {
    return fmt::format("{}.{}{}", owner, table.name, kSuffix);
}

std::optional<AnnexName> parse_annex_file(std::string_view name) {
    if (!name.ends_with(kSuffix)) return std::nullopt;
    name.remove_suffix(kSuffix.size());
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || !is_owner(name.substr(0, dot))) return std::nullopt;
    const schema::Table* table = schema::find_table(name.substr(dot + 1));
    if (table == nullptr || !table->takes_annexes) return std::nullopt;
    return AnnexName{std::string(name.substr(0, dot)), table};
}

Result<> put_annex(const core::Directory& record, std::string_view owner, const stream::Batch& rows) {
    if (!is_owner(owner))
        return core::bad_input("\"{}\" is not an owner's name", owner)
            .hint("up to 32 lower case letters, digits, - and _, beginning with a letter");
    if (!rows.table().takes_annexes)
        return core::bad_input("table {} takes no annexes", rows.table().name)
            .hint("its rows are those that were recorded");
    BELAY_TRY(manifest, read_manifest(record));
    if (!manifest.sealed)
        return core::bad_input("{} is not sealed", record.path().string())
            .hint("seal it first: belay record seal RECORD");
    BELAY_CHECK(make_directory(record, kAnnexesName));
    BELAY_TRY(annexes, record.enter(kAnnexesName));
    const std::string file = annex_file(owner, rows.table());
    if (rows.empty()) {
        BELAY_TRY(facts, annexes.facts(file));
        if (facts) return annexes.remove_file(file);
        return core::bad_input("nothing was added: there are no rows, and {} has added none to {} before",
                               owner, rows.table().name)
            .hint("an empty array takes away what an owner added");
    }
    BELAY_CHECK(check_room(annexes, file));
    BELAY_TRY(database, Database::open());
    BELAY_CHECK(database.register_rows("rows_in_memory", rows_in(rows)));
    BELAY_CHECK(database.execute(
        fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM rows_in_memory()", rows.table().name)));
    BELAY_TRY(target, begin_file(record, fmt::format("{}/{}", kAnnexesName, file)));
    return write_parquet(database, rows.table(), RowOrder::kSort, std::move(target));
}

}  // namespace belay::record
