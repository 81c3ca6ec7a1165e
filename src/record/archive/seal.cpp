#include "record/archive/archive.h"
#include "record/archive/parquet_file.h"

#include <algorithm>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

// The latest time in any table that Belay timed (not `progress`, whose time the program states): when the job
// was last seen.
std::optional<core::Time> last_time(const RecordInfo& info) {
    std::optional<core::Time> last;
    for (const auto& [name, facts] : info.tables)
        if (facts.end && name != "progress") last = last ? std::max(*last, *facts.end) : *facts.end;
    return last;
}

// Nothing that is in the segments may be lost with them.
Result<> check_sealable(const core::Directory& record, const std::vector<stream::SegmentSummary>& segments,
                        bool being_written) {
    for (const stream::SegmentSummary& segment : segments) {
        BELAY_CHECK(check_own(record, segment_file(segment.file)));
        if (segment.newer)
            return core::bad_input("{} was written by a newer version of Belay",
                                   record.path_of(segment_file(segment.file)).string())
                .hint("seal the record with that version");
    }
    if (being_written)
        return core::bad_input("{} is still being recorded", record.path().string())
            .hint(
                "seal it when the job has ended; a recorder killed on another node counts as gone about a "
                "minute after its last write");
    return {};
}

std::string table_file(std::string_view table) {
    return fmt::format("{}/{}.parquet", kTablesName, table);
}

Result<> remove_marked(const core::Directory& directory, std::string_view mark) {
    BELAY_TRY(names, directory.list());
    for (const std::string& name : names)
        if (name.contains(mark)) BELAY_CHECK(directory.remove_file(name));
    return {};
}

// What a process that was killed while it sealed, or kept a table of its own, has left: nobody else does now.
Result<> remove_unfinished(const core::Directory& record) {
    BELAY_TRY(directory, record.enter(kTablesName));
    BELAY_CHECK(remove_marked(directory, ".tmp-"));
    return remove_marked(record, fmt::format("{}.tmp-", kManifestName));
}

using OrderOf = std::function<RowOrder(const schema::Table&)>;

Result<> write_tables(const core::Directory& record, Database& database, const OrderOf& order_of,
                      const RecordInfo& info, Manifest& manifest) {
    BELAY_CHECK(make_directory(record, kTablesName));
    BELAY_CHECK(remove_unfinished(record));
    for (const schema::Table* table : schema::tables()) {
        BELAY_TRY(file, begin_file(record, table_file(table->name)));
        BELAY_CHECK(write_parquet(database, *table, order_of(*table), std::move(file)));
        manifest.tables[std::string(table->name)] = {.rows = info.tables.at(std::string(table->name)).rows};
    }
    return {};
}

// The record as it was before its tables were written; what cannot be removed is written anew by the next
// seal.
void remove_tables(const core::Directory& record) {
    for (const schema::Table* table : schema::tables()) (void)record.remove_file(table_file(table->name));
    (void)record.remove_directory(kTablesName);
}

// Whether the manifest on disk says so: an error may come after it was replaced. Where that cannot be seen,
// it may have been.
bool may_be_sealed(const core::Directory& record) {
    auto manifest = read_manifest(record);
    return !manifest || manifest->sealed.has_value();
}

}  // namespace

Result<> keep_table(const core::Directory& record, const stream::Batch& rows, std::string_view facts) {
    BELAY_TRY(database, Database::open());
    BELAY_CHECK(database.register_rows("rows_in_memory", rows_in(rows)));
    BELAY_CHECK(database.execute(
        fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM rows_in_memory()", rows.table().name)));
    BELAY_TRY(file, begin_file(record, table_file(rows.table().name)));
    return write_parquet(database, rows.table(), RowOrder::kSort, std::move(file), facts);
}

Result<> keep_answers(const core::Directory& record, const Archive& archive) {
    if (!archive.asked_anew_) return {};
    BELAY_TRY(file, begin_file(record, fmt::format("{}/{}", kTablesName, kAnswersName)));
    BELAY_CHECK(core::write_all(file.fd(), answers_to_json(archive.answers_, *archive.manifest_.sealed),
                                file.path().string()));
    return std::move(file).replace();
}

Result<Sealing> seal(const fs::path& path, core::Time now, std::span<const StandIn> stand_ins) {
    BELAY_TRY(record, claim_record(path));
    BELAY_TRY(archive, Archive::load(record, stand_ins, {.loaded_values = 0}));
    if (archive.manifest_.sealed) {  // segments are left over if that process was killed at its very end
        (void)remove_unfinished(record);
        return Sealing{.sealed_before = true, .left = retire_segments(record, archive.manifest_)};
    }
    const std::vector<stream::SegmentSummary>& segments = archive.segments_->segments();
    BELAY_CHECK(check_sealable(record, segments, archive.being_written_));

    BELAY_TRY(info, archive.info());
    std::optional<core::Time> end = last_time(info);
    if (end)
        BELAY_CHECK(archive.database_.execute(fmt::format(
            "UPDATE allocation SET t1 = make_timestamp({}) WHERE t1 IS NULL", core::to_microseconds(*end))));
    Manifest manifest = info.manifest;
    manifest.sealed = now;
    manifest.segments = segment_facts(segments);
    manifest.lost = info.lost;
    if (!manifest.job.end) manifest.job.end = end;
    auto order_of = [&](const schema::Table& table) {
        return archive.is_in_segments(table) ? RowOrder::kAsTheyCome : RowOrder::kSort;
    };
    Result<> sealed = write_tables(record, archive.database_, order_of, info, manifest);
    if (sealed) sealed = check_unchanged(record, segments);
    if (sealed) sealed = replace_manifest(record, manifest);  // from here on it is sealed
    if (!sealed) {
        if (!may_be_sealed(record)) remove_tables(record);
        return std::unexpected(std::move(sealed.error()));
    }
    return Sealing{.sealed_before = false, .left = retire_segments(record, manifest)};
}

}  // namespace belay::record
