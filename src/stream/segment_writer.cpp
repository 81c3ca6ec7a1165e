#include "core/utf8.h"
#include "stream/column_codec.h"
#include "stream/segment.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <zstd.h>

namespace belay::stream {

using core::Result;

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
            {"tables", std::move(tables_json)}};
}

// A reader that just looks whether the file is locked holds it for a moment. File systems without locks
// refuse; there the age of the file tells that it is in use.
void lock_for_writing(int fd) {
    for (int tries = 0; tries < 50 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Whether the rows fit into one block, as far as that is known before they are encoded.
bool may_fit(const Batch& batch) {
    if (batch.rows() > kMaxBlockRows) return false;
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch.table().columns.size(); ++i)
        for (const std::string& text : batch.values(i).texts) bytes += text.size();
    return bytes <= kMaxBlockTextBytes;
}

std::string dump(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<SegmentWriter> SegmentWriter::begin(core::Descriptor file, const std::filesystem::path& path,
                                           const Session& session) {
    lock_for_writing(file.get());
    SegmentWriter writer(std::move(file), path);
    std::string header(kSegmentMagic);
    header.resize(kFileHeaderBytes, '\0');
    header[kSegmentMagic.size()] = static_cast<char>(kSegmentVersion);
    BELAY_CHECK(core::write_all(writer.fd_.get(), header, writer.path_.string()));
    writer.size_ = kFileHeaderBytes;
    BELAY_CHECK(writer.write_block(kSessionBlock, 0, 0, dump(session_json(session))));
    return writer;
}

Result<SegmentWriter> SegmentWriter::create(const std::filesystem::path& path, const Session& session) {
    BELAY_TRY(directory, core::Directory::open(path.parent_path()));
    const std::string name = path.filename().native();
    BELAY_TRY(file, directory.open_file(name, O_RDWR | O_CREAT | O_EXCL));
    auto writer = begin(std::move(file), path, session);
    if (!writer) (void)directory.remove_file(name);
    return writer;
}

Result<> SegmentWriter::append(const Batch& batch) {
    if (batch.empty()) return {};
    auto all = schema::tables();
    auto table = std::ranges::find(all, &batch.table());
    std::string payload;
    put_varint(payload, batch.table().columns.size());
    bool fits = may_fit(batch);
    if (fits)
        for (size_t i = 0; i < batch.table().columns.size(); ++i)
            encode_column(batch.table().columns[i].type, batch.values(i), batch.rows(), payload);
    if (batch.rows() > 1 && (!fits || payload.size() > kMaxBlockBytes)) {
        size_t half = batch.rows() / 2;  // no reader would believe such a block
        BELAY_CHECK(append(batch.slice(0, half)));
        return append(batch.slice(half, batch.rows() - half));
    }
    return write_block(kRowsBlock, static_cast<uint16_t>(table - all.begin()),
                       static_cast<uint32_t>(batch.rows()), payload);
}

Result<> SegmentWriter::finish(core::Time at) {
    BELAY_CHECK(write_block(kEndBlock, 0, 0, dump({{"time", core::to_nanoseconds(at)}})));
    if (fsync(fd_.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path_.string()));
    return {};
}

void SegmentWriter::touch() const {
    (void)futimens(fd_.get(), nullptr);  // a file system that refuses loses nothing but this sign of life
}

Result<> SegmentWriter::write_block(uint8_t kind, uint16_t table, uint32_t rows, std::string_view payload) {
    std::string block(kBlockHeaderBytes + ZSTD_compressBound(payload.size()), '\0');
    size_t stored = ZSTD_compress(block.data() + kBlockHeaderBytes, block.size() - kBlockHeaderBytes,
                                  payload.data(), payload.size(), kCompressionLevel);
    bool compressed = ZSTD_isError(stored) == 0 && stored < payload.size();
    if (!compressed) {
        stored = payload.size();
        std::ranges::copy(payload, block.begin() + kBlockHeaderBytes);
    }
    block.resize(kBlockHeaderBytes + stored);
    auto header = encode_block_header({
        .kind = kind,
        .compression = compressed ? kZstd : kPlain,
        .table = table,
        .rows = rows,
        .stored_bytes = static_cast<uint32_t>(stored),
        .raw_bytes = static_cast<uint32_t>(payload.size()),
        .sequence = sequence_,
        .payload_crc = checksum(std::string_view(block).substr(kBlockHeaderBytes)),
    });
    std::ranges::copy(header, block.begin());

    // One write, so that a kill between two blocks leaves no half of one (within what the kernel takes at
    // once).
    if (Result<> written = core::write_all(fd_.get(), block, path_.string()); !written) {
        // A full disk took a part of the block; without it, the file ends with a whole one again.
        // Where it cannot be cut off, the next block begins behind it: readers pass over it.
        if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0)
            if (const off_t end = lseek(fd_.get(), 0, SEEK_END); end >= 0) size_ = static_cast<uint64_t>(end);
        lseek(fd_.get(), static_cast<off_t>(size_), SEEK_SET);
        return written;
    }
    size_ += block.size();
    ++sequence_;
    return {};
}

}  // namespace belay::stream
