// The segments of a record that is not sealed, as tables that are read in place: each table's rows in order
// of node and time, merged from all segments, a block of each at a time.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "record/archive/row_source.h"
#include "stream/segment.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

// By which rows are ordered. What has none comes last, as in SQL.
struct RowKey {
    std::optional<std::string> node;
    std::optional<int64_t> time;  // nanoseconds since 1970

    friend bool operator==(const RowKey&, const RowKey&) = default;
};
bool operator<(const RowKey& a, const RowKey& b);

// The rows of one table in one segment.
struct RowExtent {
    uint64_t rows = 0;
    RowKey lowest;
    RowKey highest;
    RowKey last;           // in the file
    bool in_order = true;  // otherwise they are sorted in memory when they are read: a clock was put back
    std::optional<int64_t> earliest;  // nanoseconds since 1970
    std::optional<int64_t> latest;
};

// The rows of one table in all segments.
struct TableRows {
    uint64_t rows = 0;
    std::optional<core::Time> start;  // earliest and latest `time`
    std::optional<core::Time> end;
};

// Nodes from `from` on and before `until`.
struct NodeRange {
    std::optional<std::string> from = {};
    std::optional<std::string> until = {};
};

// Immutable once it is read, so that several threads may read rows. The files may be removed meanwhile where
// there are at most kHeldSegments of them; a reader of more is then told kNotFound.
class SegmentRows : public std::enable_shared_from_this<SegmentRows> {
  public:
    static constexpr size_t kHeldSegments = 256;

    // Reads all segments once, for what is in them and what is lost. Errors: kSystem.
    static core::Result<std::shared_ptr<const SegmentRows>> read(const core::Directory& record);

    const std::vector<stream::SegmentSummary>& segments() const { return summaries_; }
    bool is_being_written(size_t segment) const { return files_[segment].being_written; }
    TableRows rows_of(const schema::Table& table) const;
    // The rows of a table. It keeps this object alive. Its cursors fail with kSystem if a file cannot be read
    // or is another than it was.
    RowSource source(const schema::Table& table, NodeRange nodes = {}) const;

  private:
    friend class SegmentMerge;
    struct File {
        std::string name;
        core::Descriptor held = {};
        bool being_written = false;
        std::map<const schema::Table*, RowExtent> extents = {};
    };
    explicit SegmentRows(core::Directory record) : record_(std::move(record)) {}
    // Whether they unpacked to no more than they may.
    core::Result<bool> read_segments(const std::vector<std::string>& names, size_t threads);
    core::Result<> read_segment(int fd, size_t segment, stream::UnpackBudget& budget);

    core::Directory record_;
    std::vector<File> files_;
    std::vector<stream::SegmentSummary> summaries_;
};

}  // namespace belay::record
