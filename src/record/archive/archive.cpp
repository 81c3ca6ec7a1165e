#include "record/archive/archive.h"

#include "record/archive/coverage.h"

#include <algorithm>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

std::optional<core::Time> as_time(const Value& value) {
    const auto* time = std::get_if<core::Time>(&value);
    return time != nullptr ? std::optional(*time) : std::nullopt;
}

// A recorder that was killed writes its opening row of an interval but not the closing one; of both, the
// closing one is kept.
constexpr const char* kKeepClosedAllocations = R"(
    CREATE OR REPLACE TABLE allocation AS SELECT * EXCLUDE (rank) FROM (
        SELECT *, row_number() OVER (PARTITION BY node, job_id, step_id, device, first_task, t0
                                     ORDER BY t1 NULLS LAST) AS rank FROM allocation) WHERE rank = 1
    ORDER BY node, time)";

std::vector<fs::path> segment_files(const fs::path& record) {
    std::vector<fs::path> files;
    std::error_code ignored;
    fs::directory_iterator entries(segments_path(record), ignored);
    for (; !ignored && entries != fs::directory_iterator(); entries.increment(ignored))
        if (entries->path().extension() == ".seg") files.push_back(entries->path());
    std::ranges::sort(files);
    return files;
}

// What a segment that was not closed says about the end of its recorder.
std::vector<Lost> missing_end(const SegmentSummary& segment) {
    if (segment.ended || !segment.session) return {};
    double at_most = core::to_seconds(segment.session->flush + segment.session->interval);
    return {{segment.file, 0, 0,
             fmt::format("the recorder on {} was killed: up to {:g} s before its end are missing",
                         segment.session->node, at_most)}};
}

}  // namespace

Result<Archive> Archive::load(const fs::path& record) {
    BELAY_TRY(manifest, read_manifest(record));
    BELAY_TRY(database, Database::open());
    std::error_code ignored;
    Archive archive(fs::absolute(record, ignored), std::move(manifest), std::move(database));
    BELAY_CHECK(archive.manifest_.sealed ? archive.open_tables() : archive.load_segments());
    return archive;
}

Result<Archive> Archive::open(const fs::path& record) {
    BELAY_TRY(archive, load(record));
    BELAY_CHECK(archive.database_.confine(tables_path(archive.record_).string() + "/"));
    return archive;
}

Result<> Archive::open_tables() {
    for (const Table* table : tables()) {
        fs::path file = tables_path(record_) / fmt::format("{}.parquet", table->name);
        if (std::error_code ignored; fs::exists(file, ignored)) {
            BELAY_CHECK(database_.execute(fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM read_parquet({})",
                                                      table->name, sql_literal(file.string()))));
        } else if (manifest_.tables.contains(std::string(table->name))) {
            return core::bad_input("{} is incomplete: {} is missing", record_.string(), file.string())
                .hint("copy the record again, with its tables directory");
        } else {
            BELAY_CHECK(database_.execute(create_table_sql(*table)));  // the record is older than the table
        }
    }
    return {};
}

Result<> Archive::load_segments() {
    for (const Table* table : tables()) BELAY_CHECK(database_.execute(create_table_sql(*table)));
    Result<> appended;
    for (const fs::path& file : segment_files(record_)) {
        bool busy = is_being_written(file);
        BELAY_TRY(summary, read_segment(file, [&](const Batch& batch) {
                      if (appended) appended = database_.append(batch);
                  }));
        BELAY_CHECK(std::move(appended));
        appended = {};
        being_written_ |= busy;
        if (!busy) std::ranges::move(missing_end(summary), std::back_inserter(summary.lost));
        segments_.push_back(std::move(summary));
    }
    BELAY_CHECK(database_.execute(kKeepClosedAllocations));
    if (!being_written_) BELAY_CHECK(count_what_was_never_taken(database_, segments_));
    return {};
}

Result<RecordInfo> Archive::info() {
    RecordInfo info{
        .manifest = manifest_, .sealed = manifest_.sealed.has_value(), .being_written = being_written_};
    for (const Table* table : tables()) {
        BELAY_TRY(answer,
                  query(fmt::format("SELECT count(*), min(time), max(time) FROM \"{}\"", table->name)));
        const auto& row = answer.rows.at(0);
        TableInfo& facts = info.tables[std::string(table->name)];
        facts.rows = static_cast<int64_t>(as_double(row[0]));
        facts.start = as_time(row[1]);
        facts.end = as_time(row[2]);
    }
    BELAY_TRY(coverage, read_coverage(database_));
    info.coverage = coverage.total;
    for (const auto& [table, share] : coverage.tables)
        if (info.tables.contains(table)) info.tables[table].coverage = share;
    info.lost = manifest_.lost;
    for (const SegmentSummary& segment : segments_)
        std::ranges::copy(segment.lost, std::back_inserter(info.lost));
    return info;
}

}  // namespace belay::record
