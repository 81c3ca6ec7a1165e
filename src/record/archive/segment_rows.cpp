#include "record/archive/segment_rows.h"

#include "core/parallel.h"
#include "record/archive/segments.h"
#include "stream/liveness.h"

#include <algorithm>
#include <fcntl.h>
#include <numeric>
#include <thread>

namespace belay::record {

using core::Result;

namespace {

// Every table begins with them.
constexpr size_t kTimeColumn = 0;
constexpr size_t kNodeColumn = 1;

constexpr unsigned kMostReaders = 8;  // threads of the first pass, each with a block in memory

template <typename T, typename Values>
std::optional<T> value_at(const stream::ColumnValues& column, const Values& values, size_t row) {
    return column.present[row] != 0 ? std::optional<T>(values[row]) : std::nullopt;
}

RowKey key_at(const stream::Batch& batch, size_t row) {
    const stream::ColumnValues& node = batch.values(kNodeColumn);
    const stream::ColumnValues& time = batch.values(kTimeColumn);
    return {value_at<std::string>(node, node.texts, row), value_at<int64_t>(time, time.integers, row)};
}

// -1, 0 or 1; what is missing is greatest.
template <typename T>
int compare(bool has_a, const T& a, bool has_b, const T& b) {
    if (!has_a || !has_b) return static_cast<int>(has_b) - static_cast<int>(has_a);
    return a < b ? -1 : static_cast<int>(b < a);
}

// The row and a key, without a copy of the node's name.
int compare(const stream::Batch& batch, size_t row, const RowKey& key) {
    const stream::ColumnValues& node = batch.values(kNodeColumn);
    const stream::ColumnValues& time = batch.values(kTimeColumn);
    static const std::string no_node;
    const int by_node = compare(node.present[row] != 0, node.texts[row], key.node.has_value(),
                                key.node ? *key.node : no_node);
    if (by_node != 0) return by_node;
    return compare(time.present[row] != 0, time.integers[row], key.time.has_value(), key.time.value_or(0));
}

void add_times(RowExtent& extent, const stream::ColumnValues& times) {
    for (size_t row = 0; row < times.integers.size(); ++row) {
        if (times.present[row] == 0) continue;
        const int64_t time = times.integers[row];
        extent.earliest = std::min(extent.earliest.value_or(time), time);
        extent.latest = std::max(extent.latest.value_or(time), time);
    }
}

void add_to(RowExtent& extent, const stream::Batch& batch) {
    add_times(extent, batch.values(kTimeColumn));
    for (size_t row = 0; row < batch.rows(); ++row) {
        const bool is_first = extent.rows++ == 0;
        if (!is_first && compare(batch, row, extent.last) == 0) continue;
        RowKey key = key_at(batch, row);
        extent.in_order &= is_first || !(key < extent.last);
        if (is_first || key < extent.lowest) extent.lowest = key;
        if (is_first || extent.highest < key) extent.highest = key;
        extent.last = std::move(key);
    }
}

stream::Batch sorted(const stream::Batch& batch) {
    std::vector<size_t> order(batch.rows());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return compare(batch, a, key_at(batch, b)) < 0; });
    auto take = [&](auto& to, const auto& from) {
        if (from.empty()) return;
        to.reserve(order.size());
        for (size_t row : order) to.push_back(from[row]);
    };
    stream::Batch out(batch.table());
    for (size_t i = 0; i < batch.table().columns.size(); ++i) {
        take(out.values(i).present, batch.values(i).present);
        take(out.values(i).integers, batch.values(i).integers);
        take(out.values(i).reals, batch.values(i).reals);
        take(out.values(i).texts, batch.values(i).texts);
    }
    out.set_rows(batch.rows());
    return out;
}

// As it is told by a table of a sealed record.
core::Time in_microseconds(int64_t nanoseconds) {
    return core::time_from_nanoseconds(nanoseconds / 1000 * 1000);
}

core::Error changed(const std::filesystem::path& path) {
    return core::system_error("{} is another than it was when the record was opened", path.string())
        .hint("somebody seals or copies the record: try again")
        .error();
}

}  // namespace

bool operator<(const RowKey& a, const RowKey& b) {
    static const std::string no_node;
    const int by_node = compare(a.node.has_value(), a.node ? *a.node : no_node, b.node.has_value(),
                                b.node ? *b.node : no_node);
    if (by_node != 0) return by_node < 0;
    return compare(a.time.has_value(), a.time.value_or(0), b.time.has_value(), b.time.value_or(0)) < 0;
}

// One pass over the rows of a table. Segments are opened when their first row is due, so that of a thousand
// nodes few are held at a time.
class SegmentMerge {
  public:
    SegmentMerge(std::shared_ptr<const SegmentRows> rows, const schema::Table& table, const NodeRange& nodes)
        : rows_(std::move(rows)), table_(&table) {
        for (size_t i = 0; i < rows_->files_.size(); ++i)
            if (const RowExtent* extent = extent_of(i); extent != nullptr && touches(*extent, nodes))
                pending_.push_back(i);
        std::ranges::stable_sort(
            pending_, [&](size_t a, size_t b) { return extent_of(a)->lowest < extent_of(b)->lowest; });
        std::ranges::reverse(pending_);
    }

    Result<RowRun> next(size_t most) {
        BELAY_CHECK(advance());
        BELAY_CHECK(open_due());
        if (open_.empty()) return RowRun{};
        const size_t lowest = lowest_open();
        Part& part = *open_[lowest];
        const size_t count = run_length(lowest, most);
        taken_ = lowest;
        taken_rows_ = count;
        return RowRun{part.batch, part.row, count};
    }

  private:
    // A segment that is being read; `row` is the next one of its batch.
    struct Part {
        size_t file;
        core::Descriptor opened;  // where none is held
        std::optional<stream::SegmentReader> reader;
        std::optional<stream::Batch> sorted;  // all rows, instead of a reader
        const stream::Batch* batch = nullptr;
        size_t row = 0;
        uint64_t rows_read = 0;
    };

    const RowExtent* extent_of(size_t file) const {
        const auto& extents = rows_->files_[file].extents;
        auto found = extents.find(table_);
        return found != extents.end() ? &found->second : nullptr;
    }

    static bool touches(const RowExtent& extent, const NodeRange& nodes) {
        if (nodes.from && extent.highest.node && *extent.highest.node < *nodes.from) return false;
        return !(nodes.until && (!extent.lowest.node || *extent.lowest.node >= *nodes.until));
    }

    // Passes over what was taken last.
    Result<> advance() {
        if (taken_rows_ == 0) return {};
        Part& part = *open_[taken_];
        part.row += taken_rows_;
        taken_rows_ = 0;
        if (part.row < part.batch->rows()) return {};
        BELAY_TRY(more, read_batch(part));
        if (!more) open_.erase(open_.begin() + static_cast<ptrdiff_t>(taken_));
        return {};
    }

    Result<> open_due() {
        while (!pending_.empty()) {
            const RowKey& first = extent_of(pending_.back())->lowest;
            if (!open_.empty()) {
                const Part& lowest = *open_[lowest_open()];
                if (compare(*lowest.batch, lowest.row, first) < 0) return {};
            }
            BELAY_TRY(part, open(pending_.back()));
            pending_.pop_back();
            if (part) open_.push_back(std::move(part));
        }
        return {};
    }

    Result<std::unique_ptr<Part>> open(size_t file) {
        const SegmentRows::File& from = rows_->files_[file];
        const std::filesystem::path path = path_of(file);
        auto part = std::make_unique<Part>(Part{.file = file, .opened = {}, .reader = {}, .sorted = {}});
        if (from.held.get() < 0) {
            BELAY_TRY(opened, rows_->record_.open_file(segment_file(from.name), O_RDONLY));
            part->opened = std::move(opened);
        }
        const int fd = from.held.get() < 0 ? part->opened.get() : from.held.get();
        BELAY_TRY(reader, stream::SegmentReader::open_again(fd, path, rows_->summaries_[file], *table_));
        part->reader.emplace(std::move(reader));
        BELAY_TRY(has_rows, extent_of(file)->in_order ? read_batch(*part) : read_sorted(*part));
        if (!has_rows) part.reset();
        return part;
    }

    std::filesystem::path path_of(size_t file) const {
        return rows_->record_.path_of(segment_file(rows_->files_[file].name));
    }

    // False at the end.
    Result<bool> read_batch(Part& part) {
        const uint64_t expected = extent_of(part.file)->rows;
        part.row = 0;
        part.batch = nullptr;
        if (part.reader) {
            BELAY_TRY(batch, part.reader->next());
            part.batch = batch;
        }
        const bool is_at_end = part.batch == nullptr;
        if (!is_at_end) part.rows_read += part.batch->rows();
        if (part.rows_read > expected || (is_at_end && part.rows_read < expected))
            return std::unexpected(changed(path_of(part.file)));
        return !is_at_end;
    }

    Result<bool> read_sorted(Part& part) {
        stream::Batch all(*table_);
        for (;;) {
            BELAY_TRY(more, read_batch(part));
            if (!more) break;
            all.append(*part.batch);
        }
        part.reader.reset();
        part.batch = &part.sorted.emplace(sorted(all));
        return !part.batch->empty();
    }

    // Of equal ones that of the segment opened first.
    size_t lowest_open() const {
        size_t lowest = 0;
        for (size_t i = 1; i < open_.size(); ++i)
            if (compare(*open_[i]->batch, open_[i]->row, key_at(*open_[lowest]->batch, open_[lowest]->row)) <
                0)
                lowest = i;
        return lowest;
    }

    // How many rows of this part come before anything else does.
    size_t run_length(size_t lowest, size_t most) const {
        const Part& part = *open_[lowest];
        std::optional<RowKey> bound;
        auto narrow = [&](RowKey key) {
            if (!bound || key < *bound) bound = std::move(key);
        };
        for (size_t i = 0; i < open_.size(); ++i)
            if (i != lowest) narrow(key_at(*open_[i]->batch, open_[i]->row));
        if (!pending_.empty()) narrow(extent_of(pending_.back())->lowest);
        const size_t end = std::min(part.batch->rows(), part.row + most);
        if (!bound || compare(*part.batch, end - 1, *bound) < 0) return end - part.row;
        size_t row = part.row + 1;  // the first is the lowest of all
        while (row < end && compare(*part.batch, row, *bound) < 0) ++row;
        return row - part.row;
    }

    std::shared_ptr<const SegmentRows> rows_;
    const schema::Table* table_;
    std::vector<size_t> pending_;  // files, the next one last
    std::vector<std::unique_ptr<Part>> open_;
    size_t taken_ = 0;  // of open_, what the last call gave
    size_t taken_rows_ = 0;
};

Result<std::shared_ptr<const SegmentRows>> SegmentRows::read(const core::Directory& record) {
    BELAY_TRY(directory, record.enter(""));
    std::shared_ptr<SegmentRows> rows(new SegmentRows(std::move(directory)));
    BELAY_TRY(names, segment_names(record));
    BELAY_TRY(is_within_budget,
              rows->read_segments(names, std::min(kMostReaders, std::thread::hardware_concurrency())));
    // What is left out where segments unpack to too much must not depend on how fast each thread was.
    if (!is_within_budget) BELAY_CHECK(rows->read_segments(names, 1));
    return rows;
}

Result<bool> SegmentRows::read_segments(const std::vector<std::string>& names, size_t threads) {
    stream::UnpackBudget budget;
    files_.clear();
    files_.resize(names.size());
    summaries_.clear();
    summaries_.resize(names.size());
    BELAY_CHECK(core::in_parallel(names.size(), threads, [&](size_t i) -> Result<> {
        files_[i].name = names[i];
        BELAY_TRY(file, record_.open_file(segment_file(names[i]), O_RDONLY));
        BELAY_CHECK(read_segment(file.get(), i, budget));
        if (i < kHeldSegments) files_[i].held = std::move(file);
        return {};
    }));
    return !budget.is_empty();
}

Result<> SegmentRows::read_segment(int fd, size_t segment, stream::UnpackBudget& budget) {
    File& file = files_[segment];
    const stream::SegmentLock lock = stream::segment_lock(fd);
    BELAY_TRY(reader, stream::SegmentReader::open(fd, record_.path_of(segment_file(file.name)), budget));
    for (;;) {
        BELAY_TRY(batch, reader.next());
        if (batch == nullptr) break;
        add_to(file.extents[&batch->table()], *batch);
    }
    summaries_[segment] = reader.summary();
    file.being_written = stream::is_being_written(fd, lock, summaries_[segment]);
    return {};
}

TableRows SegmentRows::rows_of(const schema::Table& table) const {
    TableRows all;
    for (const File& file : files_) {
        auto found = file.extents.find(&table);
        if (found == file.extents.end()) continue;
        const RowExtent& extent = found->second;
        all.rows += extent.rows;
        if (!extent.earliest) continue;
        const core::Time start = in_microseconds(*extent.earliest);
        const core::Time end = in_microseconds(*extent.latest);
        all.start = std::min(all.start.value_or(start), start);
        all.end = std::max(all.end.value_or(end), end);
    }
    return all;
}

RowSource SegmentRows::source(const schema::Table& table, NodeRange nodes) const {
    return {
        .table = &table, .rows = rows_of(table).rows, .begin = [self = shared_from_this(), &table, nodes] {
            auto merge = std::make_shared<SegmentMerge>(self, table, nodes);
            return [merge](size_t most) { return merge->next(most); };
        }};
}

}  // namespace belay::record
