#include "schema/tables/progress.h"
#include "stream/block_walk.h"
#include "stream/column_codec.h"
#include "stream/segment.h"
#include "stream/segment_bytes.h"
#include "stream/segment_format.h"
#include "stream/segment_session.h"
#include "stream/unpack.h"

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <utility>

namespace belay::stream {

using core::bad_input;
using core::Result;

namespace {

void fill_with_nulls(const schema::Column& column, size_t rows, ColumnValues& values) {
    values.present.assign(rows, 0);
    if (column.type == schema::ColumnType::kText)
        values.texts.assign(rows, {});
    else if (column.type == schema::ColumnType::kReal)
        values.reals.assign(rows, 0);
    else
        values.integers.assign(rows, 0);
}

// What the rows of a block take in memory, but for their texts, which decode_column() counts.
uint64_t bytes_of_rows(const WrittenTable& written, const BlockHeader& header) {
    const size_t columns =
        std::max(written.columns.size(), written.table == nullptr ? 0 : written.table->columns.size());
    return uint64_t{header.rows} * columns * sizeof(int64_t);
}

// Overwrites the batch. Takes the texts' bytes off `text_budget`.
Result<> decode_rows(const WrittenTable& written, const BlockHeader& header, std::string_view payload,
                     uint64_t& text_budget, Batch& batch) {
    BELAY_TRY(column_count, take_varint(payload));
    if (column_count != written.columns.size()) return bad_input("column count differs from the schema");
    std::vector<bool> filled(written.table->columns.size());
    ColumnValues unknown;
    for (const WrittenColumn& column : written.columns) {
        ColumnValues& values = column.index ? batch.values(*column.index) : unknown;
        BELAY_CHECK(decode_column(column.type, payload, header.rows, values, text_budget));
        if (column.index) filled[*column.index] = true;
    }
    if (!payload.empty()) return bad_input("bytes after the last column");
    for (size_t i = 0; i < filled.size(); ++i)
        if (!filled[i]) fill_with_nulls(written.table->columns[i], header.rows, batch.values(i));
    batch.set_rows(header.rows);
    return {};
}

}  // namespace

// Walks the blocks of one segment; `summary_` grows as it goes. Functions that take a place return where to
// go on.
class SegmentReader::Walker {
  public:
    // `budget`: nullptr where the segment was read before. `only`: nullptr for all tables.
    Walker(SegmentBytes bytes, std::string_view name, UnpackBudget* budget, const schema::Table* only)
        : bytes_(std::move(bytes)), schema_(own_schema()), budget_(budget), only_(only) {
        summary_.file = name;
        summary_.bytes = bytes_.size();
    }

    Result<const Batch*> next() {
        if (!begun_) {
            BELAY_TRY(begin, take_file_header());
            summary_.read_to = begin;
            begun_ = true;
        }
        batch_ = nullptr;
        while (!is_at_end_ && batch_ == nullptr && summary_.read_to < bytes_.size()) {
            BELAY_TRY(next, take_block(summary_.read_to));
            summary_.read_to = next;
        }
        return batch_;
    }
    const SegmentSummary& summary() const { return summary_; }

  private:
    Result<uint64_t> take_file_header() {
        BELAY_TRY(found, find_head(bytes_));
        if (found.head == FileHead::kForeign) note_lost(0, 0, "no segment header");
        if (found.head == FileHead::kNewer) {
            summary_.newer = true;
            note_lost(0, bytes_.size(), "written by a newer version of Belay");
        }
        return found.next;
    }

    // Damage is noted and skipped.
    Result<uint64_t> take_block(uint64_t at) {
        BELAY_TRY(found, find_block(bytes_, at));
        if (!found.header) {
            note_lost(at, found.bytes(), std::string(found.problem));
            return found.next;
        }
        const BlockHeader& header = *found.header;
        if (is_passed_over(header)) return found.next;
        const auto whole = static_cast<size_t>(found.bytes());
        BELAY_TRY(block, bytes_.at(at, whole));
        if (block.size() < whole) return bytes_.size();  // it is being cut off
        if (budget_ != nullptr && header.kind == kRowsBlock) budget_->add_rows(whole);
        if (auto used = use(header, block.substr(kBlockHeaderBytes, header.stored_bytes)); !used) {
            // What this machine lacks is no damage of the file: the next reader may find all of it.
            if (used.error().kind() == core::ErrorKind::kSystem)
                return std::unexpected(std::move(used.error()).context(summary_.file));
            note_lost(at, whole, used.error().message());
        }
        if (budget_ == nullptr || !budget_->is_empty()) return found.next;
        note_lost(found.next, bytes_.size() - found.next, "decompresses to more than any recorder writes");
        is_at_end_ = true;
        return found.next;
    }

    bool is_passed_over(const BlockHeader& header) const {
        return only_ != nullptr && header.kind == kRowsBlock && header.table < schema_.size() &&
               schema_[header.table].table != only_;
    }

    Result<> use(const BlockHeader& header, std::string_view stored) {
        BELAY_CHECK(spend(header.raw_bytes));
        BELAY_TRY(payload, unpacker_.unpack(header, stored));
        if (header.kind == kSessionBlock) {
            BELAY_TRY(written, decode_session(payload));
            summary_.session = std::move(written.session);
            schema_ = std::move(written.schema);
        } else if (header.kind == kEndBlock) {
            BELAY_TRY(ended, decode_end(payload));
            summary_.ended = ended;
        } else if (header.kind == kRowsBlock) {
            BELAY_CHECK(use_rows(header, payload));
        }
        if (header.kind > kEndBlock) summary_.left_out = true;  // a kind of a newer version
        return {};
    }

    Result<> use_rows(const BlockHeader& header, std::string_view payload) {
        if (header.table >= schema_.size()) return bad_input("unknown table index");
        const WrittenTable& written = schema_[header.table];
        BELAY_CHECK(spend(bytes_of_rows(written, header)));
        summary_.left_out |= written.table == nullptr || !written.knows_all();
        if (written.table == nullptr) return {};
        Batch& batch = batches_.try_emplace(written.table, *written.table).first->second;
        uint64_t text_budget = kMaxBlockTextBytes;
        auto decoded = decode_rows(written, header, payload, text_budget, batch);
        BELAY_CHECK(spend(kMaxBlockTextBytes - text_budget));
        BELAY_CHECK(std::move(decoded));
        if (batch.empty()) return {};
        summary_.rows += batch.rows();
        // A program's own clock (the table progress) says nothing about when it was recorded.
        if (written.table != &schema::kProgress)
            for (int64_t time : batch.values(0).integers)
                summary_.last =
                    std::max(summary_.last.value_or(core::Time::min()), core::time_from_nanoseconds(time));
        batch_ = &batch;
        return {};
    }

    Result<> spend(uint64_t bytes) {
        if (budget_ != nullptr && !budget_->spend(bytes))
            return bad_input("decompresses to more than any recorder writes");
        return {};
    }

    void note_lost(uint64_t offset, uint64_t bytes, std::string reason) {
        if (summary_.lost.size() < kMaxLost) {
            summary_.lost.push_back({summary_.file, offset, bytes, std::move(reason)});
            return;
        }
        Lost& last = summary_.lost.back();
        last.bytes = offset + bytes - last.offset;
        last.reason = "damaged in many places";
    }

    SegmentBytes bytes_;
    WrittenSchema schema_;
    UnpackBudget* budget_;
    const schema::Table* only_;
    Unpacker unpacker_;
    bool begun_ = false;
    bool is_at_end_ = false;  // before the end of the file
    std::map<const schema::Table*, Batch> batches_;
    const Batch* batch_ = nullptr;  // what was found last
    SegmentSummary summary_;
};

SegmentReader::SegmentReader(std::unique_ptr<Walker> walker) : walker_(std::move(walker)) {}
SegmentReader::SegmentReader(SegmentReader&&) noexcept = default;
SegmentReader& SegmentReader::operator=(SegmentReader&&) noexcept = default;
SegmentReader::~SegmentReader() = default;

Result<SegmentReader> SegmentReader::open(int fd, const std::filesystem::path& path, UnpackBudget& budget) {
    BELAY_TRY(bytes, SegmentBytes::of_file(fd, path.string()));
    return SegmentReader(
        std::make_unique<Walker>(std::move(bytes), path.filename().string(), &budget, nullptr));
}

Result<SegmentReader> SegmentReader::open_again(int fd, const std::filesystem::path& path,
                                                const SegmentSummary& before, const schema::Table& table) {
    BELAY_TRY(bytes, SegmentBytes::of_file(fd, path.string()));
    bytes.cut_to(before.read_to);
    return SegmentReader(
        std::make_unique<Walker>(std::move(bytes), path.filename().string(), nullptr, &table));
}

SegmentReader SegmentReader::of_bytes(std::string_view bytes, std::string_view name, UnpackBudget& budget) {
    return SegmentReader(std::make_unique<Walker>(SegmentBytes(bytes), name, &budget, nullptr));
}

Result<const Batch*> SegmentReader::next() {
    return walker_->next();
}

const SegmentSummary& SegmentReader::summary() const {
    return walker_->summary();
}

UnpackBudget::UnpackBudget() : left_(kUnpackedFloor) {}

void UnpackBudget::add_rows(uint64_t stored_bytes) {
    left_ += kUnpackedRatio * stored_bytes;
}

bool UnpackBudget::spend(uint64_t bytes) {
    uint64_t left = left_;
    while (!left_.compare_exchange_weak(left, bytes <= left ? left - bytes : 0)) {
    }
    return bytes <= left;
}

namespace {

Result<SegmentSummary> read_all(SegmentReader reader, const BatchVisitor& visit) {
    for (;;) {
        BELAY_TRY(batch, reader.next());
        if (batch == nullptr) return reader.summary();
        visit(*batch);
    }
}

}  // namespace

Result<SegmentSummary> read_segment_bytes(std::string_view bytes, std::string_view name,
                                          const BatchVisitor& visit) {
    UnpackBudget budget;
    return read_all(SegmentReader::of_bytes(bytes, name, budget), visit);
}

Result<SegmentSummary> read_segment(const std::filesystem::path& path, const BatchVisitor& visit) {
    BELAY_TRY(directory, core::Directory::open(path.parent_path()));
    BELAY_TRY(file, directory.open_file(path.filename().native(), O_RDONLY));
    UnpackBudget budget;
    BELAY_TRY(reader, SegmentReader::open(file.get(), path, budget));
    return read_all(std::move(reader), visit);
}

}  // namespace belay::stream
