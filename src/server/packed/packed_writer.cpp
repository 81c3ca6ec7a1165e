#include "server/packed/packed_writer.h"

#include "core/file.h"
#include "server/packed/row_order.h"
#include "server/packed/rows_codec.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <cerrno>

#include <zstd.h>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kWriteBuffer = size_t{1} << 20;

uint64_t values_in(const stream::Batch& rows) {
    uint64_t values = 0;
    constexpr size_t kTimeAndNode = 2;
    for (size_t i = kTimeAndNode; i < rows.table().columns.size(); ++i)
        values += static_cast<uint64_t>(std::ranges::count(rows.values(i).present, uint8_t{1}));
    return values;
}

}  // namespace

void PackedWriter::Free::operator()(ZSTD_CCtx_s* context) const {
    ZSTD_freeCCtx(context);
}

PackedWriter::PackedWriter(int fd, std::string name, Tier tier, std::string facts, const PackedLimits& limits)
    : fd_(fd), name_(std::move(name)), limits_(limits), index_(std::move(facts)), zstd_(ZSTD_createCCtx()) {
    uint16_t number = 0;
    for (const schema::Table* table : tables_of(tier)) tables_.emplace(table, number++);
}

PackedWriter::PackedWriter(PackedWriter&&) noexcept = default;
PackedWriter::~PackedWriter() = default;

Result<PackedWriter> PackedWriter::begin(int fd, std::string name, const PackedFacts& facts,
                                         const PackedLimits& limits) {
    std::string text = encode_packed_facts(facts);
    PackedWriter writer(fd, std::move(name), facts.tier, text, limits);
    if (!writer.zstd_) return core::system_error("out of memory").because_of_errno(ENOMEM);
    ZSTD_CCtx_setParameter(writer.zstd_.get(), ZSTD_c_compressionLevel, limits.level);
    const auto head = encode_packed_head();
    BELAY_CHECK(writer.write({head.data(), head.size()}));
    BELAY_CHECK(writer.add_part({.kind = kFactsPart}, text));
    return writer;
}

Result<> PackedWriter::write(std::string_view bytes) {
    buffer_ += bytes;
    written_.bytes += bytes.size();
    if (buffer_.size() < kWriteBuffer) return {};
    BELAY_CHECK(core::write_all(fd_, buffer_, name_));
    buffer_.clear();
    return {};
}

Result<> PackedWriter::add_part(PartHeader header, std::string_view payload) {
    if (payload.size() > kMaxPartBytes)
        return core::bad_input("{}: {} bytes do not fit into a part", name_, payload.size());
    // Of rows, too: long columns are packed by themselves, short ones together.
    packed_.resize(ZSTD_compressBound(payload.size()));
    const size_t stored =
        ZSTD_compress2(zstd_.get(), packed_.data(), packed_.size(), payload.data(), payload.size());
    const bool is_smaller = ZSTD_isError(stored) == 0 && stored < payload.size();
    const std::string_view bytes = is_smaller ? std::string_view(packed_).substr(0, stored) : payload;
    header.compression = is_smaller ? stream::kZstd : stream::kPlain;
    header.stored_bytes = static_cast<uint32_t>(bytes.size());
    header.raw_bytes = static_cast<uint32_t>(payload.size());
    header.payload_crc = stream::checksum(bytes);
    if (header.kind == kRowsPart || header.kind == kPiecePart)
        index_.add_part({.at = written_.bytes,
                         .kind = header.kind,
                         .table = header.table,
                         .stream = header.stream,
                         .rows = header.rows,
                         .stored_bytes = header.stored_bytes,
                         .raw_bytes = header.raw_bytes,
                         .first_time = header.first_time,
                         .last_time = header.last_time});
    const auto encoded = encode_part_header(header);
    BELAY_CHECK(write({encoded.data(), encoded.size()}));
    return write(bytes);
}

Result<> PackedWriter::begin_stream(const PackedStream& stream) {
    std::string text = encode_packed_stream(stream);
    stream_ = index_.add_stream(text);
    return add_part({.kind = kStreamPart, .stream = stream_}, text);
}

Result<> PackedWriter::add_some(const stream::Batch& rows, std::span<const uint32_t> some,
                                std::span<const uint32_t> things) {
    const stream::Batch part = gathered(rows, rows_by_thing(some, things));
    const std::string payload = encode_packed_rows(part, limits_.level);
    const bool is_too_large = payload.size() > stream::kMaxBlockBytes;
    uint64_t text_bytes = 0;  // as a reader counts them
    for (size_t i = 0; i < part.table().columns.size(); ++i)
        for (const std::string& text : part.values(i).texts) text_bytes += text.size();
    if ((is_too_large || text_bytes > stream::kMaxBlockTextBytes) && some.size() > 1) {
        BELAY_CHECK(add_some(rows, some.subspan(0, some.size() / 2), things));
        return add_some(rows, some.subspan(some.size() / 2), things);
    }
    return add_part({.kind = kRowsPart,
                     .table = tables_.at(&rows.table()),
                     .stream = stream_,
                     .rows = static_cast<uint32_t>(some.size()),
                     .first_time = core::time_from_nanoseconds(time_of(rows, some.front())),
                     .last_time = core::time_from_nanoseconds(time_of(rows, some.back()))},
                    payload);
}

Result<> PackedWriter::add_rows(const stream::Batch& rows, std::span<const uint32_t> things) {
    if (rows.empty()) return {};
    const RowOrder order = rows_by_time(rows);
    // What a value takes before it is packed, about.
    constexpr size_t kValueBytes = 3;
    constexpr size_t kFewRows = 256;
    const size_t row_bytes = rows.table().columns.size() * kValueBytes;
    const size_t most =
        std::clamp(limits_.part_bytes / row_bytes, std::min(kFewRows, limits_.part_rows), limits_.part_rows);
    for (size_t begin = 0; begin < order.size();) {
        size_t end = std::min(begin + most, order.size());
        // Rows of one moment stay together, so that parts do not overlap; only where there are too many of them they do.
        size_t cut = end;
        while (cut > begin && cut < order.size() &&
               time_of(rows, order[cut]) == time_of(rows, order[cut - 1]))
            --cut;
        if (cut > begin) end = cut;
        BELAY_CHECK(add_some(rows, std::span(order).subspan(begin, end - begin), things));
        begin = end;
    }
    written_.rows += rows.rows();
    written_.values += values_in(rows);
    written_.first_time =
        std::min(written_.first_time, core::time_from_nanoseconds(time_of(rows, order.front())));
    written_.last_time =
        std::max(written_.last_time, core::time_from_nanoseconds(time_of(rows, order.back())));
    return {};
}

Result<> PackedWriter::add_piece(std::string_view piece, uint32_t rows, core::Time first, core::Time last) {
    written_.rows += rows;
    if (first <= last) {
        written_.first_time = std::min(written_.first_time, first);
        written_.last_time = std::max(written_.last_time, last);
    }
    return add_part(
        {.kind = kPiecePart, .stream = stream_, .rows = rows, .first_time = first, .last_time = last}, piece);
}

Result<WrittenPacked> PackedWriter::finish() {
    const uint64_t index_at = written_.bytes;
    BELAY_CHECK(add_part({.kind = kIndexPart}, index_.finish()));
    const auto tail = encode_packed_tail(
        {.index_at = index_at, .index_bytes = static_cast<uint32_t>(written_.bytes - index_at)});
    BELAY_CHECK(write({tail.data(), tail.size()}));
    BELAY_CHECK(core::write_all(fd_, buffer_, name_));
    buffer_.clear();
    return written_;
}

}  // namespace belay::server
