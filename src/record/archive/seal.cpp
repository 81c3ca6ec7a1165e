#include "core/file.h"
#include "record/archive/archive.h"
#include "record/archive/parquet_file.h"
#include "record/archive/segments.h"

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
Result<> check_sealable(const fs::path& record, const std::vector<SegmentSummary>& segments,
                        bool being_written) {
    for (const SegmentSummary& segment : segments)
        if (segment.newer)
            return core::bad_input("{} was written by a newer version of Belay",
                                   (segments_path(record) / segment.file).string())
                .hint("seal the record with that version");
    if (being_written)
        return core::bad_input("{} is still being recorded", record.string())
            .hint(
                "seal it when the job has ended; a recorder killed on another node counts as gone about a "
                "minute after its last write");
    return {};
}

}  // namespace

Result<Sealing> seal(const fs::path& record, core::Time now, std::span<const StandIn> stand_ins) {
    BELAY_CHECK(read_manifest(record));  // what is no record is told as everywhere
    BELAY_TRY(claim, claim_record(record));
    BELAY_TRY(archive, Archive::load(record, stand_ins));
    if (archive.manifest_.sealed)  // segments are left over if that process was killed at its very end
        return Sealing{.sealed_before = true, .kept = retire_segments(record, archive.manifest_)};
    BELAY_CHECK(check_sealable(record, archive.segments_, archive.being_written_));

    BELAY_TRY(info, archive.info());
    std::optional<core::Time> end = last_time(info);
    if (end)
        BELAY_CHECK(archive.database_.execute(fmt::format(
            "UPDATE allocation SET t1 = make_timestamp({}) WHERE t1 IS NULL", core::to_microseconds(*end))));
    BELAY_CHECK(core::make_directories(tables_path(record)));
    Manifest manifest = info.manifest;
    for (const Table* table : tables()) {
        BELAY_CHECK(write_parquet(archive.database_, *table,
                                  tables_path(record) / fmt::format("{}.parquet", table->name)));
        manifest.tables[std::string(table->name)] = {.rows = info.tables[std::string(table->name)].rows};
    }
    BELAY_CHECK(core::sync_directory(tables_path(record)));
    manifest.sealed = now;
    manifest.segments = segment_facts(archive.segments_);
    manifest.lost = info.lost;
    if (!manifest.job.end) manifest.job.end = end;
    BELAY_CHECK(check_unchanged(record, archive.segments_));
    BELAY_CHECK(core::replace_file(manifest_path(record), to_json(manifest)));  // from here on it is sealed
    return Sealing{.sealed_before = false, .kept = retire_segments(record, manifest)};
}

}  // namespace belay::record
