#include "record/archive/archive.h"

#include "core/parallel.h"
#include "record/archive/coverage.h"
#include "record/archive/older_events.h"
#include "record/archive/parquet_file.h"
#include "record/archive/segments.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "stream/liveness.h"

#include <algorithm>
#include <fcntl.h>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

// Of one part of a table: there may be as many at a time as there are cores.
constexpr core::ByteSize kScanMemory{512'000'000};

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

// What is missing of a segment: parts that could not be read, and, if its recorder has gone without closing
// it, the end.
std::vector<stream::Lost> missing_parts(const stream::SegmentSummary& segment, bool being_written) {
    std::vector<stream::Lost> lost = segment.lost;
    if (segment.left_out)
        lost.push_back(
            {segment.file, 0, 0, "holds columns, tables or blocks that this version of Belay does not know"});
    if (being_written || segment.ended || !segment.session) return lost;
    if (!segment.lost.empty()) {
        lost.push_back({segment.file, 0, 0,
                        fmt::format("its end is missing: how long the recorder on {} went on is not known",
                                    segment.session->node)});
        return lost;
    }
    double at_most = core::to_seconds(segment.session->flush) + core::to_seconds(segment.session->interval);
    lost.push_back(
        {segment.file, 0, 0,
         fmt::format(
             "the recorder on {} did not finish: it was killed, which loses up to {:g} s, or its node "
             "failed or the file system was full, which loses all that was not yet on the disk",
             segment.session->node, at_most)});
    return lost;
}

// Tables to which rows are added, or in which some are changed, when segments are read.
constexpr const schema::Table* kAmended[] = {&schema::kAllocation, &schema::kCoverage, &schema::kEvent};

// What gives the rows of a table from the segments.
std::string rows_function(const schema::Table& table) {
    return fmt::format("belay_segment_rows_{}", table.name);
}

// The largest ones, of which so many values do not fit. Tables that are amended are always loaded: they have
// a row for each thing that happened.
std::set<const schema::Table*> tables_in_place(const SegmentRows& segments, uint64_t loaded_values) {
    auto values = [&](const schema::Table* table) {
        return segments.rows_of(*table).rows * table->columns.size();
    };
    std::vector<const schema::Table*> tables(schema::tables().begin(), schema::tables().end());
    std::ranges::stable_sort(tables, {}, values);
    std::set<const schema::Table*> in_place;
    uint64_t loaded = 0;
    for (const schema::Table* table : tables) {
        const bool is_amended = std::ranges::find(kAmended, table) != std::end(kAmended);
        if (is_amended || loaded + values(table) <= loaded_values)
            loaded += values(table);
        else
            in_place.insert(table);
    }
    return in_place;
}

}  // namespace

Result<Archive> Archive::load(const core::Directory& record, std::span<const StandIn> stand_ins,
                              const QueryLimits& limits) {
    for (;;) {
        BELAY_TRY(manifest, read_manifest(record));
        if (manifest.sealed) return load_sealed(record, std::move(manifest), stand_ins, limits);
        Result<Archive> archive = load_segments(record, std::move(manifest), limits);
        // Whoever seals the record meanwhile takes the segments away.
        BELAY_TRY(manifest_now, read_manifest(record));
        if (!manifest_now.sealed) return archive;
    }
}

Result<Archive> Archive::load_sealed(const core::Directory& record, Manifest manifest,
                                     std::span<const StandIn> stand_ins, const QueryLimits& limits) {
    BELAY_TRY(database, Database::open(0, limits));
    Archive archive(std::move(manifest), std::move(database));
    BELAY_CHECK(archive.open_files(record));
    BELAY_CHECK(archive.open_tables(record.path(), stand_ins));
    BELAY_CHECK(archive.open_annexes(record));
    archive.read_answers(record);
    return archive;
}

Result<Archive> Archive::open(const fs::path& path, std::span<const StandIn> stand_ins,
                              const QueryLimits& limits) {
    BELAY_TRY(record, open_record(path));
    BELAY_TRY(archive, load(record, stand_ins, limits));
    BELAY_CHECK(archive.database_.confine());
    return archive;
}

Result<Archive> Archive::in_memory(const QueryLimits& limits) {
    BELAY_TRY(database, Database::open(1, limits));
    Archive archive({}, std::move(database));
    for (const schema::Table* table : schema::tables())
        BELAY_CHECK(archive.database_.execute(create_table_sql(*table)));
    BELAY_CHECK(archive.database_.confine());
    return archive;
}

Result<> Archive::add(const schema::Table& table, const stream::Batch& rows) {
    std::string create = create_table_sql(table);
    BELAY_CHECK(database_.execute(create.insert(std::string_view("CREATE TABLE").size(), " IF NOT EXISTS")));
    return database_.append(rows);
}

Result<Archive> Archive::load_segments(const core::Directory& record, Manifest manifest,
                                       const QueryLimits& limits) {
    BELAY_TRY(segments, SegmentRows::read(record));
    std::set<const schema::Table*> in_place = tables_in_place(*segments, limits.loaded_values);
    // Rows in place come one after the other. Of DuckDB's threads one would wait for them, and wear out the
    // core on which they are read.
    BELAY_TRY(database, Database::open(in_place.empty() ? 0 : 1, limits));
    Archive archive(std::move(manifest), std::move(database));
    archive.segments_ = std::move(segments);
    archive.in_segments_ = std::move(in_place);
    BELAY_CHECK(archive.take_segments());
    return archive;
}

Result<> Archive::take_segments() {
    for (const schema::Table* table : schema::tables()) BELAY_CHECK(take_segment_rows(*table));
    for (size_t i = 0; i < segments_->segments().size(); ++i) {
        const bool busy = segments_->is_being_written(i);
        being_written_ |= busy;
        std::ranges::move(missing_parts(segments_->segments()[i], busy), std::back_inserter(lost_));
    }
    BELAY_CHECK(database_.execute(kKeepClosedAllocations));
    BELAY_CHECK(database_.execute(fill_older_events()));
    if (!being_written_) BELAY_CHECK(count_what_was_never_taken(database_, segments_->segments()));
    return {};
}

Result<> Archive::take_segment_rows(const schema::Table& table) {
    const std::string name = rows_function(table);
    if (segments_->rows_of(table).rows == 0) return database_.execute(create_table_sql(table));
    BELAY_CHECK(database_.register_rows(name, read_ahead(segments_->source(table))));
    if (is_in_segments(table))
        return database_.execute(fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM {}()", table.name, name));
    BELAY_CHECK(database_.execute(create_table_sql(table)));
    return database_.execute(fmt::format("INSERT INTO \"{}\" SELECT * FROM {}()", table.name, name));
}

bool Archive::may_keep(std::string_view question) const {
    const auto is_unreadable = [&](const auto& table) { return names_table(question, table.first); };
    const auto has_annex = [&](const auto& annex) { return names_table(question, annex.first.table->name); };
    return manifest_.sealed && std::ranges::none_of(unreadable_, is_unreadable) &&
           std::ranges::none_of(annexes_, has_annex);
}

Result<QueryResult> Archive::keep(const std::string& question, Result<QueryResult> answer) {
    if (answer && is_worth_keeping(*answer)) {
        answers_[question] = *answer;
        asked_anew_ = true;
    }
    return answer;
}

// A copy of a record belongs to who made it, whoever wrote what is in it: an answer has the shape of its
// question.
Result<QueryResult> Archive::query_kept(const std::string& sql) {
    if (!may_keep(sql)) return query(sql);
    if (auto kept = answers_.find(sql); kept != answers_.end()) {
        BELAY_TRY(columns, database_.columns_of(sql, Statement::kOwnQuery));
        if (columns == kept->second.columns) return kept->second;
    }
    return keep(sql, query(sql));
}

Result<QueryResult> Archive::made_kept(const std::string& question, const std::vector<std::string>& columns,
                                       const std::function<Result<QueryResult>()>& make) {
    if (!may_keep(question)) return make();
    if (auto kept = answers_.find(question); kept != answers_.end() && kept->second.columns == columns)
        return kept->second;
    return keep(question, make());
}

Result<std::vector<Value>> Archive::query_kept_row(const std::string& sql) {
    BELAY_TRY(answer, query_kept(sql));
    if (answer.rows.size() != 1) {
        BELAY_TRY(asked, query(sql));
        answer = std::move(asked);
    }
    if (answer.rows.size() != 1)
        return core::system_error("a question for one row was answered with {}", answer.rows.size());
    return std::move(answer.rows.front());
}

Result<> Archive::scan(const ScanRequest& request, const ScanConsumer& consume) {
    if (auto source = sources_.find(request.table->name); source != sources_.end())
        return scan_file(request, files_.at(std::string(request.table->name)), source->second, consume);
    if (is_in_segments(*request.table)) return scan_segments(request, consume);
    ScanRequest sorted = request;
    sorted.sort = true;
    for (size_t part = 0; part <= request.splits.size(); ++part)
        BELAY_CHECK(database_.scan(scan_sql(sorted, fmt::format("\"{}\"", request.table->name), part),
                                   request, [&](const ScanRows& rows) { return consume(part, rows); }));
    return {};
}

// Each part reads those segments in which it has rows.
Result<> Archive::scan_segments(const ScanRequest& request, const ScanConsumer& consume) {
    const std::string name = rows_function(*request.table);
    const size_t parts = request.splits.size() + 1;
    auto scan_part = [&](size_t part) -> Result<> {
        BELAY_TRY(database, Database::open(1, {.memory = kScanMemory}));
        NodeRange nodes;
        if (part > 0) nodes.from = request.splits[part - 1];
        if (part < request.splits.size()) nodes.until = request.splits[part];
        BELAY_CHECK(database.register_rows(name, segments_->source(*request.table, nodes)));
        return database.scan(scan_sql(request, name + "()", part), request,
                             [&](const ScanRows& rows) { return consume(part, rows); });
    };
    return core::in_parallel(parts, parts, scan_part);
}

// Each part has a thread and a database of one thread.
Result<> Archive::scan_file(const ScanRequest& request, const TableFile& file, const std::string& source,
                            const ScanConsumer& consume) {
    const size_t parts = request.splits.size() + 1;
    auto scan_part = [&](size_t part) -> Result<> {
        BELAY_TRY(database, Database::open(1, {.memory = kScanMemory}));
        database.lend(file.opened->get(), file.path);
        return database.scan(scan_sql(request, source, part), request,
                             [&](const ScanRows& rows) { return consume(part, rows); });
    };
    return core::with_context(core::in_parallel(parts, parts, scan_part), file.path.string());
}

Result<TableInfo> Archive::table_info(const schema::Table& table) {
    if (is_in_segments(table)) {
        const TableRows rows = segments_->rows_of(table);
        return TableInfo{.rows = static_cast<int64_t>(rows.rows),
                         .start = rows.start,
                         .end = rows.end,
                         .coverage = std::nullopt};
    }
    BELAY_TRY(row,
              query_kept_row(fmt::format("SELECT count(*), min(time), max(time) FROM \"{}\"", table.name)));
    return TableInfo{.rows = static_cast<int64_t>(as_double(row[0])),
                     .start = as_time(row[1]),
                     .end = as_time(row[2]),
                     .coverage = std::nullopt};
}

Result<SampleCounts> Archive::sample_counts() {
    return read_sample_counts(database_);
}

Result<RecordInfo> Archive::info() {
    RecordInfo info{
        .manifest = manifest_, .sealed = manifest_.sealed.has_value(), .being_written = being_written_};
    for (const schema::Table* table : schema::tables()) {
        BELAY_TRY(facts, table_info(*table));
        info.tables[std::string(table->name)] = facts;
    }
    BELAY_TRY(counts, sample_counts());
    info.coverage = counts.total().share();
    for (auto& [table, facts] : info.tables) facts.coverage = counts.of(table).share();
    for (const auto& [annex, file] : annexes_) info.annexes.push_back(annex);
    info.lost = manifest_.lost;
    std::ranges::copy(lost_, std::back_inserter(info.lost));
    return info;
}

}  // namespace belay::record
