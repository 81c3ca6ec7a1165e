// One query of the history: what there is of a node, packed and in the log, so that each row is in one of the two.
#pragma once

#include "core/error.h"
#include "server/blocks/block_reader.h"
#include "server/packed/history.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belay::server {

// What the log has of a node beside the packed files of the catalog.
struct NodeSnapshot {
    std::string node;
    std::shared_ptr<const Catalog> catalog;
    std::map<stream::StreamId, std::vector<BlockPlace>> live;
};

struct OpenPart {
    std::shared_ptr<const PackedReader> reader;
    PackedPart part;
};

// Of one stream, in packed files: by table; pieces of logs are of any table.
struct StreamParts {
    stream::Session session;
    std::vector<OpenPart> parts;
};

using TableBatches = std::map<const schema::Table*, stream::Batch>;

struct LiveRows {
    stream::Session session;
    TableBatches rows;  // each in order of time
};

class HistoryReading {
  public:
    explicit HistoryReading(History& history)
        : history_(history), logs_(history.intake_->directory(), history.open_logs_) {}

    // `live`: of which the log's blocks are wanted. Errors: kSystem.
    core::Result<NodeSnapshot> snapshot(const std::string& node, const TimeRange& live);
    // Of the wanted tables, all for none. Errors: kSystem.
    core::Result<LiveRows> live_rows(const NodeSnapshot& snapshot, const stream::StreamId& stream,
                                     const std::vector<const schema::Table*>& tables);
    // Files that have rows of these times, cut so that a part of them holds so many files only.
    static std::vector<TimeRange> windows(const Catalog& catalog, Tier tier, const TimeRange& range);
    // Nothing where a file is gone that the newest catalog still names, or that was merged into another meanwhile: `is_stale`.
    core::Result<std::map<stream::StreamId, StreamParts>> parts(const NodeSnapshot& snapshot, Tier tier,
                                                                const TimeRange& range);
    core::Result<std::map<stream::StreamId, StreamParts>> parts_in(const PackedFile& file,
                                                                   const std::string& node,
                                                                   const TimeRange& range);
    // Which blocks of a stream a file has, and the time of their rows; nothing for none. Errors: kSystem.
    struct FileBlocks {
        BlockRuns blocks;
        core::Time first = core::Time::max(), last = core::Time::min();
    };
    core::Result<std::optional<FileBlocks>> blocks_in(const PackedFile& file, const stream::StreamId& stream);
    // That have rows of these times in it. Nothing is told of what is gone or damaged.
    core::Result<std::set<std::string>> nodes_in(const PackedFile& file, const TimeRange& range);
    // The rows of a part that are of this table; nullptr where it has none, or is damaged. It holds until the next call.
    core::Result<const stream::Batch*> rows_of(const OpenPart& part, const schema::Table& table,
                                               const WantedColumns& wanted);
    // Whether a file of the snapshot was gone.
    bool met_missing_file() const { return met_missing_file_; }
    void forget_missing_file() { met_missing_file_ = false; }
    ReadHistory& done() { return done_; }

  private:
    core::Result<> add_parts(const std::shared_ptr<const PackedReader>& reader, const std::string& node,
                             const TimeRange& range, std::map<stream::StreamId, StreamParts>& streams);
    void note_lost(const PackedReader& reader, uint64_t at, uint64_t bytes, const core::Error& error);

    History& history_;
    OpenLogs logs_;
    ReadHistory done_;
    bool met_missing_file_ = false;
    std::optional<stream::Batch> rows_;  // of the last part
    // The last piece of a log that was taken apart: it is asked for table by table.
    std::pair<const PackedReader*, uint64_t> piece_ = {nullptr, 0};
    std::shared_ptr<const PackedReader> piece_reader_;  // so that the pointer stays its own
    TableBatches piece_rows_;
};

// A batch as WantedColumns decodes it, made of a whole one.
void clear_unwanted(stream::Batch& rows, const WantedColumns& wanted);

}  // namespace belay::server
