#include "server/packed/packed_reader.h"

#include "server/packed/packed_walk.h"
#include "stream/unpack.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

// What is read at once from the end of a file: its index, unless the file has more than some 20,000 parts.
constexpr size_t kIndexGuess = size_t{512} << 10;
constexpr size_t kMostLostParts = 1000;

}  // namespace

Result<std::string> PackedReader::bytes_at(uint64_t at, size_t size) const {
    if (at >= size_) return std::string();
    size = static_cast<size_t>(std::min<uint64_t>(size, size_ - at));
    if (!file_) return in_memory_.substr(static_cast<size_t>(at), size);
    std::string bytes(size, '\0');
    for (size_t done = 0; done < size;) {
        const ssize_t got =
            pread(file_.get(), bytes.data() + done, size - done, static_cast<off_t>(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return core::errno_error(errno, fmt::format("cannot read {}", name_));
        if (got == 0) bytes.resize(done);
        if (got == 0) break;
        done += static_cast<size_t>(got);
    }
    return bytes;
}

void PackedReader::note(uint64_t at, uint64_t bytes, std::string reason) {
    if (lost_.size() < kMostLostParts) lost_.push_back({name_, at, bytes, std::move(reason)});
}

Result<std::shared_ptr<const PackedReader>> PackedReader::open(const core::Directory& directory,
                                                               const std::string& name, Tier tier) {
    std::unique_ptr<PackedReader> reader(new PackedReader(name));
    BELAY_TRY(file, directory.open_file(name, O_RDONLY));
    struct stat status{};
    if (fstat(file.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", name));
    reader->file_ = std::move(file);
    reader->size_ = static_cast<uint64_t>(status.st_size);
    return core::with_context(finish_open(std::move(reader), tier), directory.path_of(name).string());
}

Result<std::shared_ptr<const PackedReader>> PackedReader::of_bytes(std::string bytes, std::string name,
                                                                   Tier tier) {
    std::unique_ptr<PackedReader> reader(new PackedReader(std::move(name)));
    reader->size_ = bytes.size();
    reader->in_memory_ = std::move(bytes);
    return finish_open(std::move(reader), tier);
}

Result<std::shared_ptr<const PackedReader>> PackedReader::finish_open(std::unique_ptr<PackedReader> reader,
                                                                      Tier tier) {
    BELAY_TRY(is_there, reader->read_index());
    if (!is_there) BELAY_CHECK(reader->rebuild_index(tier));
    return std::shared_ptr<const PackedReader>(std::move(reader));
}

// False where it is damaged. The head of the file is not looked at: it says nothing that the index does not.
Result<bool> PackedReader::read_index() {
    const uint64_t guess = std::min<uint64_t>(size_, kIndexGuess);
    BELAY_TRY(end, bytes_at(size_ - guess, static_cast<size_t>(guess)));
    if (end.size() < kTailBytes) return false;
    const auto tail = decode_packed_tail(std::string_view(end).substr(end.size() - kTailBytes));
    if (!tail || tail->index_bytes < kPartHeaderBytes ||
        tail->index_at + tail->index_bytes + kTailBytes != size_)
        return false;
    std::string part;
    if (tail->index_bytes + kTailBytes <= end.size()) {
        part = end.substr(end.size() - kTailBytes - tail->index_bytes, tail->index_bytes);
    } else {
        BELAY_TRY(read, bytes_at(tail->index_at, tail->index_bytes));
        part = std::move(read);
    }
    if (part.size() < tail->index_bytes) return false;
    const auto header = decode_part_header(part);
    if (!header || header->kind != kIndexPart || header->stored_bytes + kPartHeaderBytes != part.size())
        return false;
    auto payload = unpack_part(*header, std::string_view(part).substr(kPartHeaderBytes));
    if (!payload && payload.error().kind() == core::ErrorKind::kSystem)
        return std::unexpected(std::move(payload.error()));
    if (!payload) return false;
    auto index = PackedIndex::of(std::move(*payload));
    if (!index) return false;
    index_ = std::make_unique<const PackedIndex>(std::move(*index));
    return true;
}

Result<> PackedReader::rebuild_index(Tier tier) {
    BELAY_TRY(head, bytes_at(0, kPackedHeadBytes));
    if (look_at_packed_head(head) == PackedHead::kNewer)
        return bad_input("written by a newer version of Belay");
    PackedWalk walk([this](uint64_t at, size_t size) { return bytes_at(at, size); }, size_);
    BELAY_TRY(found, walk.find_all(tier));
    note(size_, 0, "its index is lost, and was made again of its parts");
    for (PackedDamage& damage : found.damage) note(damage.at, damage.bytes, std::move(damage.reason));
    auto index = PackedIndex::of(std::move(found.index));
    if (!index) return core::system_error("its index cannot be made again: {}", index.error().message());
    index_ = std::make_unique<const PackedIndex>(std::move(*index));
    return {};
}

const schema::Table* PackedReader::table_of(const PackedPart& part) const {
    const stream::WrittenSchema& schema = facts().schema;
    return part.kind == kRowsPart && part.table < schema.size() ? schema[part.table].table : nullptr;
}

Result<std::string> PackedReader::payload_of(const PackedPart& part) const {
    const size_t whole = kPartHeaderBytes + part.stored_bytes;
    BELAY_TRY(bytes, bytes_at(part.at, whole));
    const auto damaged = [&](std::string_view why) {
        return bad_input("{}: at byte {}: {}", name_, part.at, why);
    };
    if (bytes.size() < whole) return damaged("a part is cut off");
    const auto header = decode_part_header(bytes);
    if (!header || header->kind != part.kind || header->stored_bytes != part.stored_bytes ||
        header->rows != part.rows || header->table != part.table)
        return damaged("a part is not what the index says");
    auto payload = unpack_part(*header, std::string_view(bytes).substr(kPartHeaderBytes));
    if (!payload)
        return std::unexpected(
            std::move(payload.error()).context(fmt::format("{}: at byte {}", name_, part.at)));
    return payload;
}

Result<> PackedReader::read_rows(const PackedPart& part, const WantedColumns& wanted,
                                 stream::Batch& rows) const {
    if (table_of(part) != &rows.table())
        return bad_input("{}: at byte {}: rows of another table", name_, part.at);
    BELAY_TRY(payload, payload_of(part));
    return core::with_context(
        decode_packed_rows(payload, part.rows, facts().schema[part.table], wanted, rows),
        fmt::format("{}: at byte {}", name_, part.at));
}

Result<std::string> PackedReader::read_piece(const PackedPart& part) const {
    return payload_of(part);
}

}  // namespace belay::server
