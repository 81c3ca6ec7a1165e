#include "record/series/read_spans.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <thread>

namespace belay::record {

using core::Result;

namespace {

constexpr size_t kNodeColumn = 1;    // of every table
constexpr double kSortedRows = 1e6;  // by one thread at once: 200 MB at most

// The rows of a part, as they come.
class Part {
  public:
    Part(const SpanSource& source, const SpanFrame& frame, const SpanConsumer& consume)
        : source_(source), frame_(frame), consume_(consume), values_(source.inputs.size()) {
        for (const SpanInput& input : source.inputs) kinds_.push_back(input.kind);
    }

    // False where those of a node do not lie in order of time.
    bool add(const ScanRows& rows) {
        const bool knows_birth = !source_.born.empty();
        SpanSample sample;
        for (size_t row = 0; row < rows.size(); ++row) {
            const std::string_view name = rows.text(0, row);
            if (node_ == nullptr || name != node_->name) node_ = &node_of(name);
            const int64_t time = core::to_microseconds(rows.time(row));
            if (time < node_->time) return false;
            node_->time = time;
            sample.time_microseconds = time;
            sample.key = 0;
            for (size_t i = 0; i < source_.keys.size(); ++i)
                sample.key = sample.key * 0x9E3779B97F4A7C15U + rows.hashes(i)[row];
            for (size_t i = 0; i < values_.size(); ++i) values_[i] = rows.numbers(i)[row];
            if (knows_birth) sample.born_microseconds = rows.numbers(values_.size())[row];
            sample.values = values_;
            node_->spans.add(sample);
        }
        return true;
    }

    void finish() {
        for (auto& [name, node] : nodes_) consume_(name, node.spans.finish());
    }

  private:
    struct Node {
        std::string_view name;
        int64_t time;
        NodeSpans spans;
    };

    Node& node_of(std::string_view name) {
        auto found = nodes_.find(name);
        if (found == nodes_.end()) {
            found =
                nodes_.emplace(name, Node{{}, INT64_MIN, NodeSpans(frame_, kinds_, source_.outputs)}).first;
            found->second.name = found->first;
        }
        return found->second;
    }

    const SpanSource& source_;
    const SpanFrame& frame_;
    const SpanConsumer& consume_;
    std::vector<Sampled> kinds_;
    std::vector<double> values_;
    std::map<std::string, Node, std::less<>> nodes_;
    Node* node_ = nullptr;  // of the row before
};

size_t threads() {
    return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<std::string> splits_of(std::span<const std::string> sorted) {
    const size_t parts = std::min(sorted.size(), threads());
    std::vector<std::string> splits;
    for (size_t i = 1; i < parts; ++i) splits.push_back(sorted[i * sorted.size() / parts]);
    return splits;
}

ScanRequest request_of(const SpanSource& source) {
    ScanRequest request{.table = source.table,
                        .numbers = {},
                        .texts = {kNodeColumn},
                        .hashes = {source.keys.begin(), source.keys.end()},
                        .formulas = {},
                        .filter = std::string(source.filter),
                        .splits = {}};
    for (const SpanInput& input : source.inputs) request.formulas.emplace_back(input.sql);
    if (!source.born.empty()) request.formulas.emplace_back(source.born);
    return request;
}

// False where rows do not lie in order; then nothing was told.
Result<bool> read(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                  const ScanRequest& request, const SpanConsumer& consume) {
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
}

// What another program wrote, or put together, is sorted, some nodes at a time: all of it would not fit.
Result<> read_sorted(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                     std::span<const std::string> sorted, const SpanConsumer& consume) {
    BELAY_TRY(count, archive.query(fmt::format("SELECT count(*) FROM \"{}\"", source.table->name)));
    const double rows = as_double(count.rows.at(0)[0]) / static_cast<double>(sorted.size());
    const size_t some =
        std::clamp<size_t>(static_cast<size_t>(kSortedRows / std::max(rows, 1.0)), 1, sorted.size());
    for (size_t first = 0; first < sorted.size(); first += some * threads()) {
        const auto nodes = sorted.subspan(first, std::min(some * threads(), sorted.size() - first));
        ScanRequest request = request_of(source);
        request.sort = true;
        request.splits = splits_of(nodes);
        request.filter =
            fmt::format("({}) AND node BETWEEN {} AND {}", request.filter.empty() ? "true" : request.filter,
                        sql_literal(nodes.front()), sql_literal(nodes.back()));
        BELAY_CHECK(read(archive, source, frame, request, consume));
    }
    return {};
}

}  // namespace

Result<> read_spans(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                    std::vector<std::string> nodes, const SpanConsumer& consume) {
    if (nodes.empty()) return {};
    std::ranges::sort(nodes);
    ScanRequest request = request_of(source);
    request.splits = splits_of(nodes);
    BELAY_TRY(in_order, read(archive, source, frame, request, consume));
    if (in_order) return {};
    return read_sorted(archive, source, frame, nodes, consume);
}

}  // namespace belay::record
