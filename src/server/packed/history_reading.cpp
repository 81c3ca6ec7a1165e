#include "server/packed/history_reading.h"

#include "stream/segment.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kFilesAtOnce = 128;
constexpr size_t kMostLostTold = 1000;

bool overlaps(core::Time first, core::Time last, const TimeRange& range) {
    return first <= last && first < range.end && last >= range.begin;
}

bool is_wanted(const std::vector<const schema::Table*>& tables, const schema::Table* table) {
    return tables.empty() || std::ranges::find(tables, table) != tables.end();
}

void append_to(TableBatches& batches, const stream::Batch& rows) {
    batches.try_emplace(&rows.table(), rows.table()).first->second.append(rows);
}

}  // namespace

void clear_unwanted(stream::Batch& rows, const WantedColumns& wanted) {
    for (size_t i = 0; i < rows.table().columns.size(); ++i) {
        if (wanted.has(i)) continue;
        stream::ColumnValues& values = rows.values(i);
        std::ranges::fill(values.present, uint8_t{0});
        std::ranges::fill(values.integers, 0);
        std::ranges::fill(values.reals, 0.0);
        std::ranges::fill(values.texts, std::string());
    }
}

void HistoryReading::note_lost(const PackedReader& reader, uint64_t at, uint64_t bytes,
                               const core::Error& error) {
    const LostPart part{reader.name(), at, bytes, error.message()};
    if (done_.lost.size() < kMostLostTold && std::ranges::find(done_.lost, part) == done_.lost.end())
        done_.lost.push_back(part);
}

// The blocks of the log are looked up first, and their files opened: what is packed after that is in the catalog that is taken
// then, and is left out by its number; what is packed later still can be read.
Result<NodeSnapshot> HistoryReading::snapshot(const std::string& node, const TimeRange& live) {
    NodeSnapshot snapshot{.node = node, .catalog = {}, .live = {}};
    auto streams = history_.intake_->places_of(node, live);
    bool all_there = true;
    for (const auto& [stream, places] : streams) {
        BELAY_TRY(are_there, logs_.open(places));
        all_there &= are_there;
    }
    if (!all_there) BELAY_CHECK(history_.refresh(false));
    snapshot.catalog = history_.catalog();
    for (auto& [stream, places] : streams) {
        const auto known = snapshot.catalog->streams.find(stream);
        const bool any_packed = known != snapshot.catalog->streams.end();
        std::erase_if(places, [&](const BlockPlace& place) {
            return snapshot.catalog->packed_logs.contains(*place.file) ||
                   (any_packed && known->second.blocks.missing_in(place.blocks).empty());
        });
        if (!places.empty()) snapshot.live.emplace(stream, std::move(places));
    }
    return snapshot;
}

Result<LiveRows> HistoryReading::live_rows(const NodeSnapshot& snapshot, const stream::StreamId& stream,
                                           const std::vector<const schema::Table*>& tables) {
    LiveRows live;
    const auto places = snapshot.live.find(stream);
    if (places == snapshot.live.end()) return live;
    const auto known = snapshot.catalog->streams.find(stream);
    const BlockFilter filter = [&](BlockRun run) {
        if (known == snapshot.catalog->streams.end()) return std::vector<BlockRun>{run};
        return known->second.blocks.missing_in(run);
    };
    const std::function<Result<>(std::string_view)> take = [&](std::string_view piece) -> Result<> {
        BELAY_TRY(summary, stream::read_segment_bytes(piece, "log", [&](const stream::Batch& batch) {
                      if (is_wanted(tables, &batch.table())) append_to(live.rows, batch);
                  }));
        if (summary.session) live.session = std::move(*summary.session);
        return {};
    };
    BELAY_CHECK(read_places(history_.intake_->directory(), logs_, places->second, filter, take));
    for (auto& [table, rows] : live.rows) rows = gathered(rows, rows_by_time(rows));
    return live;
}

std::vector<TimeRange> HistoryReading::windows(const Catalog& catalog, Tier tier, const TimeRange& range) {
    std::vector<core::Time> begins;
    for (const PackedFile& file : catalog.files)
        if (file.tier == tier && overlaps(file.first_time, file.last_time, range))
            begins.push_back(file.first_time);
    std::ranges::sort(begins);
    std::vector<TimeRange> windows;
    core::Time begin = range.begin;
    for (size_t i = kFilesAtOnce; i < begins.size(); i += kFilesAtOnce)
        if (begins[i] > begin) {
            windows.push_back({begin, begins[i]});
            begin = begins[i];
        }
    windows.push_back({begin, range.end});
    return windows;
}

Result<> HistoryReading::add_parts(const std::shared_ptr<const PackedReader>& reader, const std::string& node,
                                   const TimeRange& range, std::map<stream::StreamId, StreamParts>& streams) {
    for (const LostPart& part : reader->lost())
        if (std::ranges::find(done_.lost, part) == done_.lost.end()) done_.lost.push_back(part);
    for (const size_t number : reader->index().streams_of(node)) {
        auto stream = reader->index().stream(number);
        auto parts = stream ? reader->index().parts(number) : std::unexpected(stream.error());
        if (!parts) {
            note_lost(*reader, 0, 0, parts.error());
            continue;
        }
        std::vector<OpenPart> found;
        for (const PackedPart& part : *parts)
            if (overlaps(part.first_time, part.last_time, range)) found.push_back({reader, part});
        if (found.empty()) continue;
        StreamParts& all = streams[stream->id()];
        all.session = std::move(stream->session);
        std::ranges::move(found, std::back_inserter(all.parts));
    }
    return {};
}

Result<std::map<stream::StreamId, StreamParts>> HistoryReading::parts(const NodeSnapshot& snapshot, Tier tier,
                                                                      const TimeRange& range) {
    std::map<stream::StreamId, StreamParts> streams;
    for (const PackedFile& file : snapshot.catalog->files) {
        if (file.tier != tier || !overlaps(file.first_time, file.last_time, range)) continue;
        auto reader = history_.files_.open(file);
        if (!reader && reader.error().cause() == core::Cause::kNotFound) {
            met_missing_file_ = true;
            BELAY_CHECK(history_.refresh(false));
            // Retention took it, or it was merged into another; if neither, it is lost.
            if (history_.catalog()->find(file.name) != nullptr)
                done_.lost.push_back({file.name, 0, file.bytes, "is gone"});
            continue;
        }
        if (!reader && reader.error().kind() == core::ErrorKind::kBadInput) {
            done_.lost.push_back({file.name, 0, file.bytes, reader.error().message()});
            continue;
        }
        if (!reader) return std::unexpected(std::move(reader.error()));
        BELAY_CHECK(add_parts(*reader, snapshot.node, range, streams));
    }
    return streams;
}

Result<std::map<stream::StreamId, StreamParts>> HistoryReading::parts_in(const PackedFile& file,
                                                                         const std::string& node,
                                                                         const TimeRange& range) {
    std::map<stream::StreamId, StreamParts> streams;
    BELAY_TRY(reader, history_.files_.open(file));
    BELAY_CHECK(add_parts(reader, node, range, streams));
    return streams;
}

Result<std::optional<HistoryReading::FileBlocks>> HistoryReading::blocks_in(const PackedFile& file,
                                                                            const stream::StreamId& stream) {
    auto reader = history_.files_.open(file);
    const bool is_gone = !reader && (reader.error().kind() == core::ErrorKind::kBadInput ||
                                     reader.error().cause() == core::Cause::kNotFound);
    if (is_gone) return std::optional<FileBlocks>();
    if (!reader) return std::unexpected(std::move(reader.error()));
    const PackedIndex& index = (*reader)->index();
    for (const size_t number : index.streams_of(stream.node)) {
        auto found = index.stream(number);
        if (!found || found->id() != stream || found->blocks.is_empty()) continue;
        FileBlocks blocks{.blocks = std::move(found->blocks)};
        const auto parts = index.parts(number);
        if (parts)
            for (const PackedPart& part : *parts) {
                if (!part.has_rows()) continue;
                blocks.first = std::min(blocks.first, part.first_time);
                blocks.last = std::max(blocks.last, part.last_time);
            }
        return std::optional(std::move(blocks));
    }
    return std::optional<FileBlocks>();
}

Result<std::set<std::string>> HistoryReading::nodes_in(const PackedFile& file, const TimeRange& range) {
    std::set<std::string> nodes;
    auto reader = history_.files_.open(file);
    const bool is_readable = reader || (reader.error().kind() == core::ErrorKind::kSystem &&
                                        reader.error().cause() != core::Cause::kNotFound);
    if (!is_readable) return nodes;
    if (!reader) return std::unexpected(std::move(reader.error()));
    const PackedIndex& index = (*reader)->index();
    for (size_t number = 0; number < index.streams(); ++number) {
        const std::string node(index.node_of(number));
        if (nodes.contains(node)) continue;
        const auto parts = index.parts(number);
        if (parts && std::ranges::any_of(*parts, [&](const PackedPart& part) {
                return overlaps(part.first_time, part.last_time, range);
            }))
            nodes.insert(node);
    }
    return nodes;
}

Result<const stream::Batch*> HistoryReading::rows_of(const OpenPart& part, const schema::Table& table,
                                                     const WantedColumns& wanted) {
    if (part.part.kind == kRowsPart) {
        if (part.reader->table_of(part.part) != &table) return nullptr;
        if (!rows_ || &rows_->table() != &table) rows_.emplace(table);
        auto read = part.reader->read_rows(part.part, wanted, *rows_);
        if (!read && read.error().kind() == core::ErrorKind::kSystem)
            return std::unexpected(std::move(read.error()));
        if (read) return &*rows_;
        note_lost(*part.reader, part.part.at, part.part.stored_bytes, read.error());
        return nullptr;
    }
    if (part.part.kind != kPiecePart) return nullptr;
    if (piece_ != std::pair(part.reader.get(), part.part.at)) {
        piece_ = {part.reader.get(), part.part.at};
        piece_reader_ = part.reader;
        piece_rows_.clear();
        auto piece = part.reader->read_piece(part.part);
        if (!piece && piece.error().kind() == core::ErrorKind::kSystem)
            return std::unexpected(std::move(piece.error()));
        if (!piece) {
            note_lost(*part.reader, part.part.at, part.part.stored_bytes, piece.error());
            return nullptr;
        }
        BELAY_TRY(summary,
                  stream::read_segment_bytes(*piece, part.reader->name(), [&](const stream::Batch& batch) {
                      append_to(piece_rows_, batch);
                  }));
    }
    const auto found = piece_rows_.find(&table);
    return found == piece_rows_.end() ? nullptr : &found->second;
}

}  // namespace belay::server
