#include "record/series/make_series.h"

#include "record/series/scan_nodes.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace belay::record {

using core::Result;
using schema::ColumnType;

namespace {

constexpr size_t kMostInputs = 32;
static_assert(std::ranges::all_of(schema::kSeriesTables, [](const schema::SeriesTable& series) {
    const auto is_plain = [](const schema::SampledSeries& one) {
        return one.share_of == schema::ShareOf::kNothing;
    };
    return series.columns.size() <= kMostInputs && std::ranges::all_of(series.columns, is_plain);
}));
constexpr schema::Sampled kPresence[] = {schema::Sampled::kState};

// The value of an input as it is.
template <size_t kInput>
double input(std::span<const double> sums) {
    return sums[kInput];
}
constexpr auto kInputs = []<size_t... kIndices>(std::index_sequence<kIndices...>) {
    return std::array<Formula, kMostInputs>{input<kIndices>...};
}(std::make_index_sequence<kMostInputs>());
constexpr SpanOutput kOfPresence[] = {{kInputs[0]}};

// Where the parts of a sample stand in a chunk: the numbers of the inputs, the moment of birth, the keys.
struct Layout {
    explicit Layout(const schema::SeriesTable& series) : inputs(series.columns.size()) {
        size_t number = inputs + (series.born.empty() ? 0 : 1);
        size_t text = 1;  // after the node
        for (size_t key : series.keys) {
            const bool is_text = series.source->columns[key].type == ColumnType::kText;
            keys.push_back(is_text ? text++ : number++);
        }
    }
    size_t inputs;
    std::vector<size_t> keys;
};

ScanRequest request_of(const schema::SeriesTable& series) {
    ScanRequest request{.table = series.source,
                        .numbers = {},
                        .texts = {kNodeColumn},
                        .hashes = {series.identity.begin(), series.identity.end()},
                        .formulas = {},
                        .filter = std::string(series.filter),
                        .splits = {}};
    for (const schema::SampledSeries& column : series.columns) request.formulas.emplace_back(column.sql);
    if (!series.born.empty()) request.formulas.emplace_back(series.born);
    for (size_t key : series.keys) {
        const schema::Column& column = series.source->columns[key];
        if (column.type == ColumnType::kText)
            request.texts.push_back(key);
        else if (column.type == ColumnType::kTimestamp)
            request.formulas.push_back(fmt::format("epoch_us(\"{}\")", column.name));
        else
            request.formulas.push_back(fmt::format("\"{}\"", column.name));
    }
    return request;
}

// What is sampled by itself: a process, an interface.
struct Thing {
    NodeSpans spans;
    std::vector<double> numbers;  // by key
    std::vector<std::string> texts;
};

// The things of one node after the other.
class SeriesReader : public NodeReader {
  public:
    SeriesReader(const schema::SeriesTable& series, const SpanFrame& frame)
        : series_(series), layout_(series), frame_(frame), rows_(*series.table), values_(layout_.inputs) {
        for (const schema::SampledSeries& column : series.columns) {
            outputs_.push_back({kInputs[kinds_.size()], column.series.fold});
            kinds_.push_back(column.sampled);
        }
    }

    void begin(std::string_view node) override {
        name_ = node;
        presence_.emplace(frame_, kPresence, kOfPresence);
    }

    void add(const ScanRows& rows, size_t row) override {
        uint64_t identity = 0;
        for (size_t i = 0; i < series_.identity.size(); ++i)
            identity = identity * 0x9E3779B97F4A7C15U + rows.hashes(i)[row];
        auto found = things_.find(identity);
        if (found == things_.end())
            found = things_
                        .emplace(identity, Thing{NodeSpans(frame_, kinds_, outputs_),
                                                 std::vector<double>(layout_.keys.size()),
                                                 std::vector<std::string>(layout_.keys.size())})
                        .first;
        Thing& thing = found->second;
        for (size_t i = 0; i < layout_.keys.size(); ++i)
            if (is_text(i))
                thing.texts[i] = rows.text(layout_.keys[i], row);
            else
                thing.numbers[i] = rows.numbers(layout_.keys[i])[row];
        SpanSample sample{.time_microseconds = core::to_microseconds(rows.time(row)), .values = values_};
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = rows.numbers(i)[row];
        if (!series_.born.empty()) sample.born_microseconds = rows.numbers(layout_.inputs)[row];
        thing.spans.add(sample);
        static constexpr double kThere = 1;
        presence_->add({.time_microseconds = sample.time_microseconds, .values = std::span(&kThere, 1)});
    }

    void end() override {
        const Spans& node = presence_->finish()[0];
        for (auto& [identity, thing] : things_) write(thing, node);
        things_.clear();
    }

    const stream::Batch& rows() const { return rows_; }

  private:
    bool is_text(size_t key) const {
        return series_.source->columns[series_.keys[key]].type == ColumnType::kText;
    }

    void write(Thing& thing, const Spans& node) {
        const std::span<const Spans> values = thing.spans.finish();
        size_t first = frame_.buckets;
        size_t end = 0;
        for (const Spans& spans : values)
            if (spans.end() > spans.first()) {
                first = std::min(first, spans.first());
                end = std::max(end, spans.end());
            }
        for (size_t bucket = first; bucket < end; ++bucket)
            write(thing, values, node[bucket].seconds, bucket);
    }

    // Of what comes and goes, rates are over the time of the node: so they add up to what was done.
    void write(const Thing& thing, std::span<const Spans> values, double node_seconds, size_t bucket) {
        double seconds = 0;
        bool went_on = false;
        for (const Spans& spans : values) {
            seconds = std::max(seconds, spans[bucket].seconds);
            went_on = went_on || !std::isnan(spans[bucket].increase);
        }
        if (seconds == 0 && !went_on) return;
        if (!series_.born.empty()) seconds = std::max(seconds, node_seconds);
        const auto since = static_cast<int64_t>(static_cast<double>(bucket) * frame_.bucket_seconds * 1e6);
        rows_.add_row(core::time_from_microseconds(frame_.start_microseconds + since), name_);
        size_t column = kNodeColumn + 1;
        for (size_t i = 0; i < layout_.keys.size(); ++i, ++column) set_key(thing, i, column);
        rows_.set(column++, seconds);
        for (size_t i = 0; i < values.size(); ++i, ++column)
            rows_.set(column, value_of(series_.columns[i], values[i][bucket], seconds));
    }

    double value_of(const schema::SampledSeries& column, const Spans::Cell& cell, double seconds) const {
        if (column.series.fold == schema::Fold::kHighest) return cell.highest;
        if (column.series.fold == schema::Fold::kIncrease) return cell.increase;
        const bool adds_up = !series_.born.empty() && column.sampled != schema::Sampled::kState;
        return adds_up && cell.seconds > 0 ? cell.weighted / seconds : cell.mean();
    }

    void set_key(const Thing& thing, size_t key, size_t column) {
        if (is_text(key)) {
            if (!thing.texts[key].empty()) rows_.set(column, thing.texts[key]);
            return;
        }
        const double number = thing.numbers[key];
        if (std::isnan(number)) return;
        if (series_.source->columns[series_.keys[key]].type == ColumnType::kTimestamp)
            rows_.set(column, core::time_from_microseconds(number));
        else
            rows_.set(column, static_cast<int64_t>(number));
    }

    const schema::SeriesTable& series_;
    Layout layout_;
    const SpanFrame& frame_;
    stream::Batch rows_;
    std::string name_;
    std::vector<schema::Sampled> kinds_;
    std::vector<SpanOutput> outputs_;
    std::vector<double> values_;
    std::map<uint64_t, Thing> things_;
    std::optional<NodeSpans> presence_;  // when the node was sampled
};

}  // namespace

Result<stream::Batch> make_series(Archive& archive, const schema::SeriesTable& series, const SpanFrame& frame,
                                  std::vector<std::string> nodes) {
    stream::Batch made(*series.table);
    BELAY_CHECK(scan_nodes(
        archive, request_of(series), std::move(nodes),
        {.make = [&] { return std::make_unique<SeriesReader>(series, frame); },
         .take = [&](NodeReader& reader) { made.append(static_cast<SeriesReader&>(reader).rows()); }}));
    return made;
}

}  // namespace belay::record
