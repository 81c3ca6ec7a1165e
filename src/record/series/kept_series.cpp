#include "record/series/kept_series.h"

#include "core/hash.h"

#include <optional>
#include <utility>

namespace belay::record {

using core::Result;

namespace {

// Raised when a rule of spans.h changes, or that of counter.h.
constexpr int kModel = 1;

// All that says how columns are made, of each text its end, too.
std::string words_of(std::span<const schema::SeriesTable> series) {
    std::string words;
    auto add_text = [&](std::string_view text) { words.append(text).push_back('\0'); };
    auto add_choice = [&](auto choice) { words.push_back(static_cast<char>(choice)); };
    for (const schema::SeriesTable& one : series) {
        for (std::string_view text : {one.table->name, one.source->name, one.filter, one.born})
            add_text(text);
        for (const auto columns : {one.keys, one.identity})
            for (size_t column : columns) add_text(one.source->columns[column].name);
        for (const schema::SampledSeries& column : one.columns) {
            add_text(column.series.name);
            add_text(column.sql);
            add_choice(column.sampled);
            add_choice(column.series.fold);
            add_choice(column.share_of);
        }
    }
    return words;
}

Result<> check_whole(Archive& archive, const schema::Table& table) {
    BELAY_CHECK(archive.query(fmt::format("SELECT max(COLUMNS(*)) FROM \"{}\"", table.name)));
    return {};
}

Result<bool> attach_table(Archive& archive, const schema::Table& table, const std::string& facts) {
    BELAY_TRY(kept, archive.kept_facts(table));
    if (kept != facts) return false;
    BELAY_CHECK(archive.attach(table));
    BELAY_CHECK(check_whole(archive, table));
    return true;
}

}  // namespace

std::string series_facts(std::span<const schema::SeriesTable> series, const SpanFrame& frame) {
    return fmt::format("series {} of {:016x}, from {} us, {} buckets of {} s, samples of {} s", kModel,
                       core::fnv1a(words_of(series)), frame.start_microseconds, frame.buckets,
                       frame.bucket_seconds, frame.interval_seconds);
}

Result<bool> attach_kept(Archive& archive, std::span<const schema::Table* const> tables,
                         const std::string& facts) {
    Result<bool> attached = true;
    for (const schema::Table* table : tables)
        if (attached && *attached) attached = attach_table(archive, *table, facts);
    if (attached && *attached) return true;
    for (const schema::Table* table : tables) BELAY_CHECK(archive.detach(*table));
    if (!attached && attached.error().kind() != core::ErrorKind::kBadInput) return attached;
    return false;
}

Result<std::vector<std::string>> nodes_in(Archive& archive, const schema::Table& table) {
    BELAY_TRY(rows, archive.query(
                        fmt::format("SELECT DISTINCT node FROM \"{}\" WHERE node IS NOT NULL", table.name)));
    std::vector<std::string> nodes;
    for (const auto& row : rows.rows) nodes.push_back(as_text(row[0]));
    return nodes;
}

}  // namespace belay::record
