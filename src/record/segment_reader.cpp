#include "core/json.h"
#include "record/column_codec.h"
#include "record/segment.h"
#include "record/segment_format.h"
#include "record/tables/progress.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <limits>

#include <nlohmann/json.hpp>
#include <zstd.h>

namespace belay::record {

using core::bad_input;
using core::Result;

namespace {

// The writer's schema as the session block states it, matched with ours.
struct WrittenColumn {
    ColumnType type;
    std::optional<size_t> index;  // in our table; nothing if we do not know the column
};
struct WrittenTable {
    const Table* table = nullptr;  // nullptr if we do not know the table
    std::vector<WrittenColumn> columns;
};
using WrittenSchema = std::vector<WrittenTable>;

std::optional<ColumnType> type_named(std::string_view name) {
    for (ColumnType type : {ColumnType::kTimestamp, ColumnType::kText, ColumnType::kInteger,
                            ColumnType::kReal, ColumnType::kBoolean})
        if (sql_type(type) == name) return type;
    return std::nullopt;
}

WrittenColumn match_column(const Table* table, std::string_view name, ColumnType type) {
    if (table == nullptr) return {type, std::nullopt};
    auto found = std::ranges::find(table->columns, name, &Column::name);
    if (found == table->columns.end() || found->type != type) return {type, std::nullopt};
    return {type, static_cast<size_t>(found - table->columns.begin())};
}

// What a segment of this version says; also assumed where the session block was lost.
WrittenSchema own_schema() {
    WrittenSchema schema;
    for (const Table* table : tables()) {
        WrittenTable written{table, {}};
        for (const Column& column : table->columns)
            written.columns.push_back(match_column(table, column.name, column.type));
        schema.push_back(std::move(written));
    }
    return schema;
}

Result<WrittenSchema> schema_from_json(const nlohmann::json& tables_json) {
    WrittenSchema schema;
    for (const auto& table_json : tables_json) {
        WrittenTable written{find_table(table_json.at("name").get<std::string>()), {}};
        for (const auto& column_json : table_json.at("columns")) {
            auto type = type_named(column_json.at(1).get<std::string>());
            if (!type) return bad_input("unknown column type");
            written.columns.push_back(
                match_column(written.table, column_json.at(0).get<std::string>(), *type));
        }
        schema.push_back(std::move(written));
    }
    return schema;
}

Result<std::pair<Session, WrittenSchema>> decode_session(std::string_view payload) {
    try {
        auto json = nlohmann::json::parse(payload);
        Session session;
        session.node = json.at("node").get<std::string>();
        if (const auto& task = json.at("task"); !task.is_null())
            session.task = core::integer_from<int64_t>(task);
        session.periodic = json.at("periodic").get<bool>();
        session.start = core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("start")));
        session.interval = core::Duration(core::integer_from<int64_t>(json.at("interval")));
        session.flush = core::Duration(core::integer_from<int64_t>(json.at("flush")));
        session.version = json.at("version").get<std::string>();
        BELAY_TRY(schema, schema_from_json(json.at("tables")));
        return std::pair(std::move(session), std::move(schema));
    } catch (const nlohmann::json::exception&) {
        return bad_input("session block is malformed");
    }
}

Result<core::Time> decode_end(std::string_view payload) {
    try {
        auto json = nlohmann::json::parse(payload);
        return core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("time")));
    } catch (const nlohmann::json::exception&) {
        return bad_input("end block is malformed");
    }
}

Result<std::string> unpack(const BlockHeader& header, std::string_view stored) {
    if (checksum(stored) != header.payload_crc) return bad_input("checksum mismatch");
    if (header.compression == kPlain) return std::string(stored);
    if (header.compression != kZstd) return bad_input("unknown compression");
    std::string raw(header.raw_bytes, '\0');
    size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || size != raw.size()) return bad_input("damaged compression");
    return raw;
}

void fill_with_nulls(const Column& column, size_t rows, ColumnValues& values) {
    values.present.assign(rows, 0);
    if (column.type == ColumnType::kText)
        values.texts.assign(rows, {});
    else if (column.type == ColumnType::kReal)
        values.reals.assign(rows, 0);
    else
        values.integers.assign(rows, 0);
}

bool knows_all(const WrittenTable& table) {
    return std::ranges::all_of(table.columns,
                               [](const WrittenColumn& column) { return column.index.has_value(); });
}

// nullopt if the block is of a table that we do not know.
Result<std::optional<Batch>> decode_rows(const WrittenSchema& schema, const BlockHeader& header,
                                         std::string_view payload) {
    if (header.table >= schema.size()) return bad_input("unknown table index");
    const WrittenTable& written = schema[header.table];
    if (written.table == nullptr) return std::nullopt;
    BELAY_TRY(column_count, take_varint(payload));
    if (column_count != written.columns.size()) return bad_input("column count differs from the schema");
    Batch batch(*written.table);
    std::vector<bool> filled(written.table->columns.size());
    for (const WrittenColumn& column : written.columns) {
        ColumnValues values;
        BELAY_CHECK(decode_column(column.type, payload, header.rows, values));
        if (!column.index) continue;
        batch.values(*column.index) = std::move(values);
        filled[*column.index] = true;
    }
    if (!payload.empty()) return bad_input("bytes after the last column");
    for (size_t i = 0; i < filled.size(); ++i)
        if (!filled[i]) fill_with_nulls(written.table->columns[i], header.rows, batch.values(i));
    batch.set_rows(header.rows);
    return batch;
}

// Walks the blocks of one segment; `summary_` grows as it goes.
class Walker {
  public:
    Walker(std::string_view bytes, std::string_view name, const BatchVisitor& visit)
        : bytes_(bytes), visit_(visit), schema_(own_schema()) {
        summary_.file = name;
        summary_.bytes = bytes.size();
    }

    SegmentSummary walk() && {
        size_t at = 0;
        if (bytes_.starts_with(kSegmentMagic))
            at = std::min(kFileHeaderBytes, bytes_.size());
        else if (!bytes_.empty())
            note_lost(0, 0, "no segment header");
        if (at > kSegmentMagic.size() &&
            static_cast<uint8_t>(bytes_[kSegmentMagic.size()]) > kSegmentVersion) {
            summary_.newer = true;
            note_lost(0, bytes_.size(), "written by a newer version of Belay");
            return std::move(summary_);
        }
        while (at < bytes_.size()) at = take_block(at);
        return std::move(summary_);
    }

  private:
    // Reads the block at `at` and returns where the next one starts; damage is noted and skipped.
    size_t take_block(size_t at) {
        std::string_view rest = bytes_.substr(at);
        std::optional<BlockHeader> header;
        if (rest.size() >= kBlockHeaderBytes) header = decode_block_header(rest);
        if (!header) {
            size_t next = next_header(at + 1);
            bool cut_off = next == bytes_.size() && rest.size() < kBlockHeaderBytes;
            note_lost(at, next - at, cut_off ? "truncated block" : "foreign or damaged bytes");
            return next;
        }
        if (rest.size() < kBlockHeaderBytes + header->stored_bytes) {
            // The file was cut off inside this block, unless a later block proves that its header lied.
            size_t next = next_header(at + kBlockHeaderBytes);
            note_lost(at, next - at, "truncated block");
            return next;
        }
        if (auto used = use(*header, rest.substr(kBlockHeaderBytes, header->stored_bytes)); !used)
            note_lost(at, kBlockHeaderBytes + header->stored_bytes, used.error().message());
        return at + kBlockHeaderBytes + header->stored_bytes;
    }

    Result<> use(const BlockHeader& header, std::string_view stored) {
        BELAY_TRY(payload, unpack(header, stored));
        if (header.kind == kSessionBlock) {
            BELAY_TRY(session, decode_session(payload));
            summary_.session = std::move(session.first);
            schema_ = std::move(session.second);
        } else if (header.kind == kEndBlock) {
            BELAY_TRY(ended, decode_end(payload));
            summary_.ended = ended;
        } else if (header.kind == kRowsBlock) {
            BELAY_TRY(batch, decode_rows(schema_, header, payload));
            summary_.left_out |= !batch || !knows_all(schema_[header.table]);
            if (!batch || batch->empty()) return {};
            summary_.rows += batch->rows();
            // A program's own clock (the table progress) says nothing about when it was recorded.
            for (int64_t time :
                 &batch->table() == &kProgress ? std::vector<int64_t>() : batch->values(0).integers)
                summary_.last =
                    std::max(summary_.last.value_or(core::Time::min()), core::time_from_nanoseconds(time));
            visit_(*batch);
        }
        if (header.kind > kEndBlock) summary_.left_out = true;  // a kind of a newer version
        return {};
    }

    size_t next_header(size_t from) const {
        for (; from + kBlockHeaderBytes <= bytes_.size(); ++from) {
            const char* found = static_cast<const char*>(
                memchr(bytes_.data() + from, static_cast<char>(kBlockMagic & 0xff), bytes_.size() - from));
            if (found == nullptr) break;
            from = static_cast<size_t>(found - bytes_.data());
            if (from + kBlockHeaderBytes <= bytes_.size() && decode_block_header(bytes_.substr(from)))
                return from;
        }
        return bytes_.size();
    }

    void note_lost(size_t offset, size_t bytes, std::string reason) {
        summary_.lost.push_back({summary_.file, offset, bytes, std::move(reason)});
    }

    std::string_view bytes_;
    const BatchVisitor& visit_;
    WrittenSchema schema_;
    SegmentSummary summary_;
};

}  // namespace

SegmentSummary read_segment_bytes(std::string_view bytes, std::string_view name, const BatchVisitor& visit) {
    return Walker(bytes, name, visit).walk();
}

Result<SegmentSummary> read_segment(int fd, const std::filesystem::path& path, const BatchVisitor& visit) {
    // Read, not mapped: a writer that meets a full disk cuts its last block off again.
    BELAY_TRY(bytes, core::read_to_end(fd, path.string(), std::numeric_limits<size_t>::max()));
    return read_segment_bytes(bytes, path.filename().string(), visit);
}

Result<SegmentSummary> read_segment(const std::filesystem::path& path, const BatchVisitor& visit) {
    BELAY_TRY(directory, core::Directory::open(path.parent_path()));
    BELAY_TRY(file, directory.open_file(path.filename().native(), O_RDONLY));
    return read_segment(file.get(), path, visit);
}

}  // namespace belay::record
