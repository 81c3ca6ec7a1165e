// Reading spans: History::read_spans.
#include "server/packed/history_reading.h"

#include <algorithm>
#include <iterator>

namespace belay::server {

using core::Result;

namespace {

// How far before the range a reading is looked for, so that the first span has its increase.
constexpr core::Duration kLookBack = std::chrono::minutes(15);

class SpanReading {
  public:
    SpanReading(History& history, const SpanQuery& query, const SpanTable& spans)
        : history_(history), reading_(history), query_(query), spans_(spans) {
        width_ = width_of(query.resolution);
        // Times this early or late are nobody's: they only must not overflow.
        begin_ = core::Time(std::max(query.range.begin.time_since_epoch(), core::Duration::min() / 2));
        end_ = core::Time(std::min(query.range.end.time_since_epoch(), core::Duration::max() / 2));
        if (query.columns.empty()) return;
        std::vector<size_t> wanted = spans.keys();
        std::ranges::copy(spans.labels(), std::back_inserter(wanted));
        wanted.push_back(spans.first_sample());
        wanted.push_back(spans.last_sample());
        for (size_t i = 0; i < spans.columns().size(); ++i) {
            if (std::ranges::find(query.columns, spans.sampled().columns[i].column) == query.columns.end())
                continue;
            const SpanColumns& places = spans.columns()[i];
            for (const size_t place : {places.min, places.max, places.mean, places.first, places.increase,
                                       places.last, places.count})
                wanted.push_back(place);
        }
        wanted_ = WantedColumns::only(std::move(wanted));
    }

    Result<> read_node(const std::string& node, const SpanVisitor& visit) {
        // Nothing is handed on before all is read, so files that are merged meanwhile can be read again where they are now.
        constexpr int kMostTimes = 5;
        for (int i = 0; i < kMostTimes; ++i) {
            SpanMerge merge(spans_, width_, query_.columns, begin_ - kLookBack);
            reading_.forget_missing_file();
            const uint64_t before = reading_.done().rows;
            BELAY_TRY(snapshot, reading_.snapshot(node, {begin_ - kLookBack, end_ + width_}));
            BELAY_CHECK(add_live(snapshot, merge));
            BELAY_CHECK(add_packed(snapshot, merge));
            const bool is_stale =
                reading_.met_missing_file() && history_.catalog()->sequence != snapshot.catalog->sequence;
            if (!is_stale) return merge.finish(node, begin_, end_, visit);
            reading_.done().rows = before;
        }
        return core::system_error("packed files of {} go faster than they can be read", node);
    }

    ReadHistory finish() { return std::move(reading_.done()); }

  private:
    Result<> add_live(const NodeSnapshot& snapshot, SpanMerge& merge) {
        const schema::Table& table = *spans_.sampled().table;
        for (const auto& [stream, places] : snapshot.live) {
            BELAY_TRY(live, reading_.live_rows(snapshot, stream, {&table}));
            const auto found = live.rows.find(&table);
            if (found == live.rows.end()) continue;
            const stream::Batch& rows = found->second;
            const std::vector<uint32_t> things = things_of(rows, spans_.sampled().keys);
            merge.add(make_spans(spans_, width_, rows, rows_by_thing(rows_by_time(rows), things), things));
            reading_.done().rows += rows.rows();
        }
        return {};
    }

    Result<> add_packed(const NodeSnapshot& snapshot, SpanMerge& merge) {
        const TimeRange range{begin_ - kLookBack, end_};
        for (const TimeRange& window : HistoryReading::windows(*snapshot.catalog, query_.resolution, range)) {
            BELAY_TRY(streams, reading_.parts(snapshot, query_.resolution, window));
            for (const auto& [stream, parts] : streams)
                for (const OpenPart& part : parts.parts) {
                    BELAY_TRY(batch, reading_.rows_of(part, spans_.table(), wanted_));
                    if (batch == nullptr) continue;
                    RowOrder order = rows_by_time(*batch);
                    std::erase_if(order, [&](uint32_t row) {
                        const core::Time time = core::time_from_nanoseconds(time_of(*batch, row));
                        return time < window.begin || time >= window.end;
                    });
                    merge.add(gathered(*batch, order));
                    reading_.done().rows += order.size();
                }
        }
        return {};
    }

    History& history_;
    HistoryReading reading_;
    const SpanQuery& query_;
    const SpanTable& spans_;
    core::Duration width_;
    core::Time begin_, end_;
    WantedColumns wanted_ = WantedColumns::all();
};

}  // namespace

Result<ReadHistory> History::read_spans(const SpanQuery& query, const SpanVisitor& visit) {
    const SpanTable* spans = query.table != nullptr ? span_table(*query.table) : nullptr;
    if (spans == nullptr)
        return core::bad_input("there are no spans of the table {}: it has no samples",
                               query.table != nullptr ? query.table->name : "(none)");
    if (query.resolution == Tier::kRaw) return core::bad_input("raw rows are no spans");
    SpanReading reading(*this, query, *spans);
    std::vector<std::string> nodes = query.nodes;
    if (nodes.empty()) {
        BELAY_TRY(all, this->nodes());
        nodes = std::move(all);
    }
    for (const std::string& node : nodes) BELAY_CHECK(reading.read_node(node, visit));
    return reading.finish();
}

}  // namespace belay::server
