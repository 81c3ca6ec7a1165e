#include "record/series/scan_nodes.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <thread>

namespace belay::record {

using core::Result;

namespace {

constexpr double kSortedRows = 1e6;  // by one thread at once: 200 MB at most

// The rows of a part, as they come.
class Part {
  public:
    explicit Part(std::unique_ptr<NodeReader> reader) : reader_(std::move(reader)) {}

    // False where they do not lie in order of node and time.
    bool add(const ScanRows& rows) {
        for (size_t row = 0; row < rows.size(); ++row) {
            const std::string_view node = rows.text(0, row);
            const int64_t time = core::to_microseconds(rows.time(row));
            if (!any_ || node != node_) {
                if (any_) reader_->end();
                if (!seen_.emplace(node).second) return false;
                node_ = node;
                any_ = true;
                reader_->begin(node);
            } else if (time < time_) {
                return false;
            }
            time_ = time;
            reader_->add(rows, row);
        }
        return true;
    }

    NodeReader& finish() {
        if (any_) reader_->end();
        any_ = false;
        return *reader_;
    }

  private:
    std::unique_ptr<NodeReader> reader_;
    std::set<std::string, std::less<>> seen_;
    std::string node_;
    int64_t time_ = 0;
    bool any_ = false;
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

// False where rows do not lie in order; then nothing was taken.
Result<bool> read(Archive& archive, const ScanRequest& request, const NodeReading& reading) {
    std::vector<Part> parts;
    for (size_t i = 0; i <= request.splits.size(); ++i) parts.emplace_back(reading.make());
    std::atomic<bool> in_order = true;
    BELAY_CHECK(archive.scan(request, [&](size_t part, const ScanRows& rows) -> Result<> {
        if (in_order && !parts[part].add(rows)) in_order = false;
        return {};
    }));
    if (!in_order) return false;
    for (Part& part : parts) reading.take(part.finish());
    return true;
}

// What another program wrote, or put together, is sorted, some nodes at a time: all of it would not fit.
Result<> read_sorted(Archive& archive, const ScanRequest& request, std::span<const std::string> nodes,
                     const NodeReading& reading) {
    BELAY_TRY(count, archive.query(fmt::format("SELECT count(*) FROM \"{}\"", request.table->name)));
    const double rows = as_double(count.rows.at(0)[0]) / static_cast<double>(nodes.size());
    const auto each =
        std::clamp<size_t>(static_cast<size_t>(kSortedRows / std::max(rows, 1.0)), 1, nodes.size());
    const size_t at_once = each * threads();
    for (size_t first = 0; first < nodes.size(); first += at_once) {
        const auto some = nodes.subspan(first, std::min(at_once, nodes.size() - first));
        ScanRequest sorted = request;
        sorted.sort = true;
        sorted.splits = splits_of(some);
        sorted.filter =
            fmt::format("({}) AND node BETWEEN {} AND {}", request.filter.empty() ? "true" : request.filter,
                        sql_literal(some.front()), sql_literal(some.back()));
        BELAY_CHECK(read(archive, sorted, reading));
    }
    return {};
}

}  // namespace

Result<> scan_nodes(Archive& archive, const ScanRequest& request, std::vector<std::string> nodes,
                    const NodeReading& reading) {
    if (nodes.empty()) return {};
    std::ranges::sort(nodes);
    ScanRequest shared = request;
    shared.splits = splits_of(nodes);
    BELAY_TRY(in_order, read(archive, shared, reading));
    if (in_order) return {};
    return read_sorted(archive, request, nodes, reading);
}

}  // namespace belay::record
