#include "server/packed/tier_merge.h"

#include "server/packed/log_contents.h"
#include "server/packed/packed_reader.h"
#include "server/packed/row_order.h"
#include "server/packed/spans.h"
#include "server/packed/tier_files.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace belay::server {

using core::Result;

namespace {

core::Duration merged_span(const MergeLimits& limits, Tier tier) {
    switch (tier) {
        case Tier::kTenSeconds:
            return limits.ten_seconds;
        case Tier::kMinute:
            return limits.minute;
        case Tier::kRaw:
            break;
    }
    return {};
}

// What one stream has in the files.
struct MergedStream {
    stream::Session session;
    std::vector<std::pair<size_t, size_t>> places;  // file, and number of the stream in it
};

class TierMerge {
  public:
    TierMerge(const core::Directory& packed, const Catalog& catalog, const PackedLimits& limits)
        : packed_(packed), catalog_(catalog), limits_(limits) {}

    Result<MergedTier> merge(const std::vector<PackedFile>& files) {
        PackedFacts facts{.tier = files.front().tier,
                          .arrived_from = core::Time::max(),
                          .arrived_until = core::Time::min()};
        for (const PackedFile& file : files) {
            BELAY_TRY(reader, PackedReader::open(packed_, file.name, file.tier));
            for (const LostPart& part : reader->lost()) done_.lost.push_back(part);
            facts.replaces.push_back(file.name);
            facts.arrived_from = std::min(facts.arrived_from, file.arrived_from);
            facts.arrived_until = std::max(facts.arrived_until, file.arrived_until);
            readers_.push_back(std::move(reader));
        }
        BELAY_TRY(out, NewPackedFile::begin(packed_, catalog_.sequence + 1, facts, limits_));
        const auto streams = streams_by_node();
        for (const auto& [id, stream] : streams) {
            bool has_begun = false;
            for (const schema::Table* table : span_tables()) {
                BELAY_TRY(rows, rows_of(stream, *table));
                if (rows.empty()) continue;
                if (!std::exchange(has_begun, true))
                    BELAY_CHECK(out.begin_stream({.session = stream.session, .blocks = {}}));
                BELAY_CHECK(out.writer().add_rows(rows, things_of(rows, span_table_of_rows(*table)->keys())));
            }
        }
        BELAY_TRY(file, std::move(out).finish());
        done_.file = std::move(file);
        return std::move(done_);
    }

  private:
    std::map<stream::StreamId, MergedStream, ByNode> streams_by_node() {
        std::map<stream::StreamId, MergedStream, ByNode> streams;
        for (size_t file = 0; file < readers_.size(); ++file)
            for (size_t number = 0; number < readers_[file]->index().streams(); ++number) {
                auto stream = readers_[file]->index().stream(number);
                if (!stream) {
                    done_.lost.push_back({readers_[file]->name(), 0, 0, stream.error().message()});
                    continue;
                }
                MergedStream& merged = streams[stream->id()];
                merged.session = std::move(stream->session);
                merged.places.emplace_back(file, number);
            }
        return streams;
    }

    Result<stream::Batch> rows_of(const MergedStream& stream, const schema::Table& table) {
        stream::Batch all(table);
        stream::Batch rows(table);
        for (const auto& [file, number] : stream.places) {
            const PackedReader& reader = *readers_[file];
            auto parts = reader.index().parts(number);
            if (!parts) {
                done_.lost.push_back({reader.name(), 0, 0, parts.error().message()});
                continue;
            }
            for (const PackedPart& part : *parts) {
                if (reader.table_of(part) != &table) continue;
                auto read = reader.read_rows(part, WantedColumns::all(), rows);
                if (!read && read.error().kind() == core::ErrorKind::kSystem)
                    return std::unexpected(std::move(read.error()));
                if (read)
                    all.append(rows);
                else
                    done_.lost.push_back({reader.name(), part.at, part.stored_bytes, read.error().message()});
            }
        }
        return joined_spans(*span_table_of_rows(table), all);
    }

    const core::Directory& packed_;
    const Catalog& catalog_;
    PackedLimits limits_;
    std::vector<std::shared_ptr<const PackedReader>> readers_;
    MergedTier done_;
};

}  // namespace

std::vector<PackedFile> next_merge(const Catalog& catalog, const MergeLimits& limits, core::Time now) {
    std::map<std::tuple<Tier, int64_t>, std::vector<PackedFile>> groups;
    for (const PackedFile& file : catalog.files) {
        const core::Duration span = merged_span(limits, file.tier);
        if (span <= core::Duration::zero()) continue;
        const int64_t number = core::to_nanoseconds(file.arrived_until) / span.count();
        if (core::to_nanoseconds(now - limits.settled) / span.count() <= number) continue;
        groups[{file.tier, number}].push_back(file);
    }
    for (auto& [what, files] : groups)
        if (files.size() > 1) return std::move(files);
    return {};
}

Result<MergedTier> merge_tier(const core::Directory& packed, const std::vector<PackedFile>& files,
                              const Catalog& catalog, const PackedLimits& limits) {
    return TierMerge(packed, catalog, limits).merge(files);
}

}  // namespace belay::server
