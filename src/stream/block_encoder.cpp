#include "stream/block_encoder.h"

#include "core/utf8.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>
#include <zstd.h>

namespace belay::stream {

namespace {

// Blocks are small and many; level 1 already finds what repeats. The sealed Parquet files are compressed
// harder.
constexpr int kCompressionLevel = 1;

nlohmann::json session_json(const Session& session) {
    nlohmann::json tables_json = nlohmann::json::array();
    for (const schema::Table* table : schema::tables()) {
        nlohmann::json columns = nlohmann::json::array();
        for (const schema::Column& column : table->columns)
            columns.push_back({std::string(column.name), std::string(sql_type(column.type))});
        tables_json.push_back({{"name", std::string(table->name)}, {"columns", std::move(columns)}});
    }
    return {{"node", core::to_valid_utf8(session.node)},  // as in the rows
            {"task", session.task ? nlohmann::json(*session.task) : nlohmann::json()},
            {"periodic", session.periodic},
            {"start", core::to_nanoseconds(session.start)},
            {"interval", session.interval.count()},
            {"flush", session.flush.count()},
            {"version", session.version},
            {"cluster", core::to_valid_utf8(session.cluster)},
            {"boot", core::to_valid_utf8(session.boot)},
            {"source", core::to_valid_utf8(session.source)},
            {"began", core::to_nanoseconds(session.began)},
            {"first_block", session.first_block},
            {"tables", std::move(tables_json)}};
}

// Whether the rows fit into one block, as far as that is known before they are encoded.
bool may_fit(const Batch& batch) {
    if (batch.rows() > kMaxBlockRows) return false;
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch.table().columns.size(); ++i)
        for (const std::string& text : batch.values(i).texts) bytes += text.size();
    return bytes <= kMaxBlockTextBytes;
}

void add_rows(const Batch& batch, uint16_t table, std::vector<RowsPayload>& parts) {
    RowsPayload part{.table = table, .rows = static_cast<uint32_t>(batch.rows()), .bytes = {}};
    put_varint(part.bytes, batch.table().columns.size());
    const bool fits = may_fit(batch);
    if (fits)
        for (size_t i = 0; i < batch.table().columns.size(); ++i)
            encode_column(batch.table().columns[i].type, batch.values(i), batch.rows(), part.bytes);
    if (batch.rows() > 1 && (!fits || part.bytes.size() > kMaxBlockBytes)) {
        const size_t half = batch.rows() / 2;  // no reader would believe such a block
        add_rows(batch.slice(0, half), table, parts);
        add_rows(batch.slice(half, batch.rows() - half), table, parts);
        return;
    }
    parts.push_back(std::move(part));
}

std::string encode_block(BlockKind kind, uint16_t table, uint32_t rows, std::string_view payload,
                         uint32_t sequence) {
    std::string block(kBlockHeaderBytes + ZSTD_compressBound(payload.size()), '\0');
    size_t stored = ZSTD_compress(block.data() + kBlockHeaderBytes, block.size() - kBlockHeaderBytes,
                                  payload.data(), payload.size(), kCompressionLevel);
    const bool compressed = ZSTD_isError(stored) == 0 && stored < payload.size();
    if (!compressed) {
        stored = payload.size();
        std::ranges::copy(payload, block.begin() + kBlockHeaderBytes);
    }
    block.resize(kBlockHeaderBytes + stored);
    const auto header = encode_block_header({
        .kind = kind,
        .compression = compressed ? kZstd : kPlain,
        .table = table,
        .rows = rows,
        .stored_bytes = static_cast<uint32_t>(stored),
        .raw_bytes = static_cast<uint32_t>(payload.size()),
        .sequence = sequence,
        .payload_crc = checksum(std::string_view(block).substr(kBlockHeaderBytes)),
    });
    std::ranges::copy(header, block.begin());
    return block;
}

std::string dump(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string encode_head(const Session& session) {
    std::string head(kSegmentMagic);
    head.resize(kFileHeaderBytes, '\0');
    head[kSegmentMagic.size()] = static_cast<char>(kSegmentVersion);
    return head + encode_block(kSessionBlock, 0, 0, dump(session_json(session)), 0);
}

std::vector<RowsPayload> encode_rows(const Batch& batch) {
    std::vector<RowsPayload> parts;
    if (batch.empty()) return parts;
    const auto all = schema::tables();
    add_rows(batch, static_cast<uint16_t>(std::ranges::find(all, &batch.table()) - all.begin()), parts);
    return parts;
}

std::string encode_rows_block(const RowsPayload& payload, uint32_t sequence) {
    return encode_block(kRowsBlock, payload.table, payload.rows, payload.bytes, sequence);
}

std::string encode_end(core::Time at, uint32_t sequence) {
    return encode_block(kEndBlock, 0, 0, dump({{"time", core::to_nanoseconds(at)}}), sequence);
}

}  // namespace belay::stream
