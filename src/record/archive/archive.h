// A job record as tables for SQL: what reading, querying and sealing share.
#pragma once

#include "record/archive/annex.h"
#include "record/archive/database.h"
#include "record/archive/kept_answers.h"
#include "record/archive/segment_rows.h"
#include "record/archive/segments.h"
#include "record/place.h"
#include "record/sample_counts.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

// A table whose rows may be thrown away where a sealed record keeps another that was made from them.
struct StandIn {
    std::string_view table;
    std::string_view kept;
};

struct TableInfo {
    int64_t rows = 0;
    std::optional<core::Time> start;  // earliest and latest `time`; nothing for an empty table
    std::optional<core::Time> end;
    std::optional<double> coverage;  // samples received / expected, 0..1; nothing for event-like tables
};

struct RecordInfo {
    Manifest manifest;
    bool sealed = false;
    bool being_written = false;      // a recorder is at work (see liveness.h)
    std::optional<double> coverage;  // over all periodic tables, weighted by samples
    std::vector<stream::Lost> lost;
    std::map<std::string, TableInfo> tables;  // with the rows of annexes
    std::vector<AnnexName> annexes;
};

// What `seal` did.
struct Sealing {
    bool sealed_before = false;     // and left as it was
    std::vector<LeftSegment> left;  // segments that hold more than is in the tables, or could not be removed
};

// An opened record. Every table of the schema can be queried by its name, also one without rows.
class Archive {
  public:
    // Reads a sealed record's Parquet files in place; of one that is not sealed small tables are loaded and
    // large ones (QueryLimits::loaded_values) read from its segments whenever they are asked for, also if it
    // is sealed meanwhile. SQL sees nothing outside the record. A table that is not there is an error, unless
    // another stands in for it. Errors: kBadInput if `record` is not a record; kSystem, also for one table
    // that is there and that this machine cannot read.
    static core::Result<Archive> open(const std::filesystem::path& record,
                                      std::span<const StandIn> stand_ins = {},
                                      const QueryLimits& limits = {});

    // All tables of the schema, empty, and nothing on disk: what add() puts into them.
    static core::Result<Archive> in_memory(const QueryLimits& limits = {});

    // Our own SQL, and a person's: a limit that it reaches is kSystem, and kBadInput. See database.h.
    core::Result<QueryResult> query(const std::string& sql) { return database_.query(sql); }
    core::Result<QueryResult> query_of_person(const std::string& sql) {
        return database_.query_of_person(sql);
    }
    // As query(), of our own SQL that reads many samples for a few rows: where the record keeps the answer
    // (keep_answers()), that is it. Not of tables that cannot be read, or have annexes, and not what another
    // user has kept.
    core::Result<QueryResult> query_kept(const std::string& sql);
    // The same of a question that `make` answers, with these columns. Its words say all that the answer
    // depends on but the samples, and name the tables.
    core::Result<QueryResult> made_kept(const std::string& question, const std::vector<std::string>& columns,
                                        const std::function<core::Result<QueryResult>()>& make);
    // The same of a question that is answered with one row.
    core::Result<std::vector<Value>> query_kept_row(const std::string& sql);
    // Reads columns of a table, row by row; see scan.h. Parts of a sealed table are read at the same time.
    // Errors: as the consumer's; kBadInput for a damaged file, also after a part of it was handed on;
    // kSystem.
    core::Result<> scan(const ScanRequest& request, const ScanConsumer& consume);
    // The columns that a person's query gives, without running it. Errors: as of query_of_person().
    core::Result<std::vector<std::string>> columns_of(const std::string& sql) {
        return database_.columns_of(sql, Statement::kQuery);
    }
    // What later queries see beside the record's own tables, for as long as this archive lives; the record on
    // disk stays as it is. Rows, for which the table is made where it is not yet there. Errors: kSystem, also
    // for a table that lies sealed on disk.
    core::Result<> add(const schema::Table& table, const stream::Batch& rows);
    // Our own CREATE TABLE ... AS, CREATE VIEW, CREATE MACRO, INSERT; never SQL that a person wrote. Errors:
    // kSystem.
    core::Result<> define(const std::string& sql) { return database_.execute(sql); }
    // Tables that are made from the record's own and lie beside them, in a sealed record: written by
    // keep_table(). kept_facts() gives back the facts, nothing where there is no such table; attach() makes
    // it one for query() and scan(), until detach(). Errors: kBadInput where it is damaged, and of attach()
    // if there is none; kSystem.
    core::Result<std::optional<std::string>> kept_facts(const schema::Table& table);
    core::Result<> attach(const schema::Table& table);
    core::Result<> detach(const schema::Table& table);
    // Tables of a sealed record that are damaged, and why: kBadInput. They count as empty, so whoever needs
    // one has to ask.
    const std::map<std::string, core::Error, std::less<>>& unreadable() const { return unreadable_; }
    // By their table: one of its annexes is damaged.
    const std::map<std::string, core::Error, std::less<>>& unread_annexes() const { return unread_annexes_; }
    // Those of them that were thrown away, and have another that stands in.
    bool is_thrown_away(std::string_view table) const { return thrown_away_.contains(table); }
    bool has_annexes() const { return !annexes_.empty(); }
    core::Result<SampleCounts> sample_counts();
    core::Result<RecordInfo> info();
    const Manifest& manifest() const { return manifest_; }
    // Whether nothing of it is known to be lost.
    bool is_whole() const { return manifest_.lost.empty() && lost_.empty(); }

  private:
    friend core::Result<> keep_answers(const core::Directory& record, const Archive& archive);
    friend core::Result<Sealing> seal(const std::filesystem::path& record, core::Time now,
                                      std::span<const StandIn> stand_ins);
    // A table of a sealed record as it was when the record was opened.
    struct TableFile {
        std::filesystem::path path;
        core::Result<core::Descriptor> opened;
        std::string lent = {};  // as SQL names it
    };
    Archive(Manifest manifest, Database database)
        : manifest_(std::move(manifest)), database_(std::move(database)) {}
    static core::Result<Archive> load(const core::Directory& record, std::span<const StandIn> stand_ins,
                                      const QueryLimits& limits);
    static core::Result<Archive> load_sealed(const core::Directory& record, Manifest manifest,
                                             std::span<const StandIn> stand_ins, const QueryLimits& limits);
    static core::Result<Archive> load_segments(const core::Directory& record, Manifest manifest,
                                               const QueryLimits& limits);
    bool may_keep(std::string_view question) const;
    core::Result<QueryResult> keep(const std::string& question, core::Result<QueryResult> answer);
    core::Result<> take_segments();
    core::Result<> take_segment_rows(const schema::Table& table);
    bool is_in_segments(const schema::Table& table) const { return in_segments_.contains(&table); }
    core::Result<TableInfo> table_info(const schema::Table& table);
    core::Result<> scan_segments(const ScanRequest& request, const ScanConsumer& consume);
    core::Result<> open_files(const core::Directory& record);
    void read_answers(const core::Directory& record);
    core::Result<> open_tables(const std::filesystem::path& record, std::span<const StandIn> stand_ins);
    core::Result<> open_table(const std::filesystem::path& record, const schema::Table& table,
                              std::span<const StandIn> stand_ins);
    core::Result<> uncover_unreadable();
    core::Result<> make_view(const schema::Table& table, const TableFile& file);
    // SQL that gives the columns of the table from a file that may be older than some of them.
    core::Result<std::string> rows_of_file(const schema::Table& table, const TableFile& file);
    core::Result<> open_annexes(const core::Directory& record);
    core::Result<> add_annexes_to(const schema::Table& table);
    core::Result<> scan_file(const ScanRequest& request, const TableFile& file, const std::string& source,
                             const ScanConsumer& consume);

    Manifest manifest_;
    std::map<std::string, TableFile, std::less<>>
        files_;  // by table; they outlive the database, which reads them
    std::vector<std::pair<AnnexName, TableFile>> annexes_;
    Database database_;
    std::map<std::string, std::string, std::less<>> sources_;  // what to select from, of tables read in place
    std::shared_ptr<const SegmentRows> segments_;              // of a record that is not sealed
    std::set<const schema::Table*> in_segments_;               // tables that are read in place, in order
    std::vector<stream::Lost> lost_;  // found when it was opened: parts of segments, tables
    std::map<std::string, core::Error, std::less<>> unreadable_;
    std::map<std::string, core::Error, std::less<>> unread_annexes_;
    std::set<std::string, std::less<>> thrown_away_;
    Answers answers_;          // that the record keeps, and those that query_kept() was asked for since
    bool asked_anew_ = false;  // whether there are such
    bool being_written_ = false;
};

// Writes a table of our own beside those of a sealed record that claim_record() gave, with facts in words of
// the caller's. Errors: kSystem.
core::Result<> keep_table(const core::Directory& record, const stream::Batch& rows, std::string_view facts);

// Writes what the archive was asked for by query_kept() beside the tables of the sealed record that
// claim_record() gave and of which it was opened. Errors: kSystem.
core::Result<> keep_answers(const core::Directory& record, const Archive& archive);

// Turns the segments into one Parquet file per table and removes those that could be read as a whole. At any
// moment a crash leaves either the segments or the whole sealed record. Errors: kBadInput if a recorder still
// writes to it (see liveness.h), another process seals it, it belongs to another user, or a newer Belay wrote
// a segment; kSystem.
core::Result<Sealing> seal(const std::filesystem::path& record, core::Time now,
                           std::span<const StandIn> stand_ins = {});

}  // namespace belay::record
