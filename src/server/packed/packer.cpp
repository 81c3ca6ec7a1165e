#include "server/packed/packer.h"

#include "server/blocks/block_reader.h"
#include "server/packed/row_order.h"
#include "server/packed/spans.h"
#include "server/packed/tier_files.h"
#include "stream/segment.h"

#include <algorithm>
#include <array>
#include <functional>

namespace belay::server {

using core::Result;

namespace {

using Batches = std::map<const schema::Table*, stream::Batch>;
using TierBatches = std::array<Batches, kTiers.size()>;

void add_to(Batches& batches, const stream::Batch& rows) {
    batches.try_emplace(&rows.table(), rows.table()).first->second.append(rows);
}

struct KeptPiece {
    std::string bytes;
    uint32_t rows = 0;
    core::Time first = core::Time::max(), last = core::Time::min();
};

// The blocks of one stream.
struct StreamRows {
    stream::Session session;
    Batches rows;                   // that are encoded anew
    Batches kept;                   // of the pieces, for spans
    std::vector<KeptPiece> pieces;  // that hold something which this version does not know, or cannot read

    Result<> add(std::string_view piece) {
        Batches known;
        KeptPiece kept_piece;
        BELAY_TRY(summary, stream::read_segment_bytes(piece, "log", [&](const stream::Batch& batch) {
                      add_to(known, batch);
                      kept_piece.rows += static_cast<uint32_t>(batch.rows());
                      const auto [first, last] = std::ranges::minmax(batch.values(0).integers);
                      kept_piece.first = std::min(kept_piece.first, core::time_from_nanoseconds(first));
                      kept_piece.last = std::max(kept_piece.last, core::time_from_nanoseconds(last));
                  }));
        if (summary.session) session = std::move(*summary.session);
        for (const auto& [table, batch] : known) add_to(summary.whole() ? rows : kept, batch);
        if (summary.whole()) return {};
        kept_piece.bytes = piece;
        pieces.push_back(std::move(kept_piece));
        return {};
    }
};

class LogPacker {
  public:
    LogPacker(const core::Directory& logs, const core::Directory& packed, const Catalog& catalog,
              const PackedLimits& limits)
        : logs_(logs), packed_(packed), catalog_(catalog), limits_(limits), open_(logs, pool_) {}

    Result<PackedLogs> pack(const std::vector<LogFile>& files) {
        for (const LogFile& file : files) {
            BELAY_CHECK(add_log(logs_, file.name, contents_));
            done_.logs.push_back(file.name);
        }
        for (const Tier tier : kTiers) {
            const PackedFacts facts{.tier = tier,
                                    .writer = files.front().writer,
                                    .logs = done_.logs,
                                    .arrived_from = contents_.arrived_from,
                                    .arrived_until = contents_.arrived_until,
                                    .lost = contents_.lost};
            BELAY_TRY(file, NewPackedFile::begin(packed_, catalog_.sequence + 1, facts, limits_));
            files_.push_back(std::move(file));
        }
        for (auto& [id, stream] : contents_.streams) BELAY_CHECK(pack_stream(id, stream));
        for (NewPackedFile& file : files_) {
            BELAY_TRY(made, std::move(file).finish());
            if (made) done_.files.push_back(std::move(*made));
        }
        done_.lost = std::move(contents_.lost);
        return std::move(done_);
    }

  private:
    Result<> pack_stream(const stream::StreamId& id, LogStream& stream) {
        const auto known = catalog_.streams.find(id);
        const BlockRuns none;
        const BlockRuns& before = known == catalog_.streams.end() ? none : known->second.blocks;
        BlockRuns fresh;
        for (const BlockRun& run : stream.blocks.runs())
            for (const BlockRun& missing : before.missing_in(run)) fresh.add(missing);
        done_.duplicates += stream.blocks.count() - fresh.count();
        if (fresh.is_empty()) return {};
        StreamRows rows{.session = session_named(id), .rows = {}, .kept = {}, .pieces = {}};
        std::ranges::stable_sort(stream.places, {},
                                 [](const BlockPlace& place) { return place.blocks.first; });
        BELAY_TRY(all_there, open_.open(stream.places));
        if (!all_there)
            return core::system_error("files of the block log went while they were packed")
                .because(core::Cause::kNotFound);
        const BlockFilter filter = [&](BlockRun run) { return before.missing_in(run); };
        const std::function<Result<>(std::string_view)> take = [&](std::string_view piece) {
            return rows.add(piece);
        };
        BELAY_CHECK(read_places(logs_, open_, stream.places, filter, take));
        BELAY_CHECK(write_stream(rows, fresh));
        done_.streams[id] = {.blocks = std::move(fresh), .arrived = stream.arrived};
        stream = {};
        return {};
    }

    static stream::Session session_named(const stream::StreamId& id) {
        stream::Session session;
        session.cluster = id.cluster;
        session.node = id.node;
        session.boot = id.boot;
        session.source = id.source;
        session.began = id.began;
        return session;
    }

    Result<> write_stream(StreamRows& stream, const BlockRuns& fresh) {
        PackedWriter& raw = files_.front().writer();
        BELAY_CHECK(files_.front().begin_stream({.session = stream.session, .blocks = fresh}));
        TierBatches spans;
        for (const schema::Table* table : schema::tables()) {
            const SampledTable* sampled = sampled_table(*table);
            if (const auto found = stream.rows.find(table); found != stream.rows.end()) {
                const std::vector<size_t> keys = sampled != nullptr ? sampled->keys : std::vector<size_t>();
                BELAY_CHECK(raw.add_rows(found->second, things_of(found->second, keys)));
            }
            if (sampled != nullptr) add_spans(stream, *table, spans);
            stream.rows.erase(table);  // of large tables there need not be two at a time
            stream.kept.erase(table);
        }
        for (const KeptPiece& piece : stream.pieces)
            BELAY_CHECK(raw.add_piece(piece.bytes, piece.rows, piece.first, piece.last));
        for (size_t tier = 1; tier < kTiers.size(); ++tier) {
            if (spans[tier].empty()) continue;
            BELAY_CHECK(files_[tier].begin_stream({.session = stream.session, .blocks = {}}));
            for (const schema::Table* table : span_tables()) {
                const auto found = spans[tier].find(table);
                if (found == spans[tier].end()) continue;
                const auto& keys = span_table_of_rows(*table)->keys();
                BELAY_CHECK(files_[tier].writer().add_rows(found->second, things_of(found->second, keys)));
            }
        }
        return {};
    }

    static void add_spans(const StreamRows& stream, const schema::Table& table, TierBatches& spans) {
        stream::Batch all(table);
        const stream::Batch* samples = nullptr;
        const auto rows = stream.rows.find(&table), kept = stream.kept.find(&table);
        if (rows != stream.rows.end()) samples = &rows->second;
        if (kept != stream.kept.end()) {
            if (samples != nullptr) all.append(*samples);
            all.append(kept->second);
            samples = &all;
        }
        if (samples == nullptr) return;
        const SpanTable& made = *span_table(table);
        const std::vector<uint32_t> things = things_of(*samples, made.sampled().keys);
        const RowOrder order = rows_by_thing(rows_by_time(*samples), things);
        for (size_t tier = 1; tier < kTiers.size(); ++tier)
            spans[tier].emplace(&made.table(),
                                make_spans(made, width_of(kTiers[tier]), *samples, order, things));
    }

    const core::Directory& logs_;
    const core::Directory& packed_;
    const Catalog& catalog_;
    PackedLimits limits_;
    LogPool pool_;
    OpenLogs open_;
    LogContents contents_;
    std::vector<NewPackedFile> files_;  // by tier
    PackedLogs done_;
};

}  // namespace

Result<PackedLogs> pack_logs(const core::Directory& logs, const std::vector<LogFile>& files,
                             const core::Directory& packed, const Catalog& catalog,
                             const PackedLimits& limits) {
    return LogPacker(logs, packed, catalog, limits).pack(files);
}

}  // namespace belay::server
