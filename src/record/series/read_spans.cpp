#include "record/series/read_spans.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

namespace belay::record {

using core::Result;

namespace {

constexpr size_t kNodeColumn = 1;  // of every table

// The rows of a part, as they come.
class Part {
  public:
    Part(const SpanSource& source, const SpanFrame& frame, const SpanConsumer& consume)
        : source_(source), frame_(frame), consume_(consume), values_(source.inputs.size()) {
        for (const SpanInput& input : source.inputs) kinds_.push_back(input.kind);
    }

    // False where they do not lie in order.
    bool add(const ScanRows& rows) {
        const bool knows_birth = !source_.born.empty();
        SpanSample sample;
        for (size_t row = 0; row < rows.size(); ++row) {
            const std::string_view node = rows.text(0, row);
            const int64_t time = core::to_microseconds(rows.time(row));
            if (!spans_ || node != node_) {
                finish();
                if (!seen_.emplace(node).second) return false;
                node_ = node;
                spans_ = std::make_unique<NodeSpans>(frame_, kinds_, source_.outputs);
            } else if (time < sample_time_) {
                return false;
            }
            sample_time_ = time;
            sample.time_microseconds = time;
            sample.key = 0;
            for (size_t i = 0; i < source_.keys.size(); ++i)
                sample.key = sample.key * 0x9E3779B97F4A7C15U + rows.hashes(i)[row];
            for (size_t i = 0; i < values_.size(); ++i) values_[i] = rows.numbers(i)[row];
            if (knows_birth) sample.born_microseconds = rows.numbers(values_.size())[row];
            sample.values = values_;
            spans_->add(sample);
        }
        return true;
    }

    void finish() {
        if (spans_) consume_(node_, spans_->finish());
        spans_.reset();
    }

  private:
    const SpanSource& source_;
    const SpanFrame& frame_;
    const SpanConsumer& consume_;
    std::vector<Sampled> kinds_;
    std::vector<double> values_;
    std::set<std::string, std::less<>> seen_;
    std::string node_;
    int64_t sample_time_ = 0;
    std::unique_ptr<NodeSpans> spans_;
};

std::vector<std::string> splits_of(std::vector<std::string> nodes) {
    std::ranges::sort(nodes);
    const size_t parts = std::min(nodes.size(), size_t{std::max(1U, std::thread::hardware_concurrency())});
    std::vector<std::string> splits;
    for (size_t i = 1; i < parts; ++i) splits.push_back(nodes[i * nodes.size() / parts]);
    return splits;
}

}  // namespace

Result<> read_spans(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                    std::vector<std::string> nodes, const SpanConsumer& consume) {
    ScanRequest request{.table = source.table,
                        .numbers = {},
                        .texts = {kNodeColumn},
                        .hashes = {source.keys.begin(), source.keys.end()},
                        .formulas = {},
                        .filter = std::string(source.filter),
                        .splits = splits_of(std::move(nodes))};
    for (const SpanInput& input : source.inputs) request.formulas.emplace_back(input.sql);
    if (!source.born.empty()) request.formulas.emplace_back(source.born);
    auto read = [&]() -> Result<bool> {
        std::vector<Part> parts;
        for (size_t i = 0; i <= request.splits.size(); ++i) parts.emplace_back(source, frame, consume);
        std::atomic<bool> in_order = true;
        BELAY_CHECK(archive.scan(request, [&](size_t part, const ScanRows& rows) -> Result<> {
            if (in_order && !parts[part].add(rows)) in_order = false;
            return {};
        }));
        if (!in_order) return false;
        for (Part& part : parts) part.finish();
        return true;
    };
    BELAY_TRY(in_order, read());
    if (in_order) return {};
    request.sort = true;
    BELAY_CHECK(read());
    return {};
}

}  // namespace belay::record
