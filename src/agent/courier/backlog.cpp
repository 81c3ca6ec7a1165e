#include "agent/courier/backlog.h"

#include "core/text.h"
#include "stream/block_walk.h"
#include "stream/segment.h"
#include "stream/spool.h"

#include <algorithm>
#include <fcntl.h>

namespace belay::agent {

using core::Result;
using stream::Cursor;

namespace {

constexpr size_t kBeganDigits = 16;

// A name of a spool's file without the number of its first block, and that number.
struct NameParts {
    std::string stream;
    uint64_t first_block = 0;
};

// Nothing for a name that no writer gives.
std::optional<NameParts> parts_of(std::string_view name) {
    if (!stream::is_spool_file_name(name) || name.size() <= kBeganDigits || name[kBeganDigits] != '-')
        return std::nullopt;
    const std::string_view behind = name.substr(kBeganDigits + 1);
    const size_t dash = behind.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    auto first = core::parse_number<uint64_t>(behind.substr(0, dash));
    if (!first) return std::nullopt;
    return NameParts{std::string(name.substr(0, kBeganDigits)).append(behind.substr(dash)), *first};
}

}  // namespace

Result<Backlog> Backlog::open(const std::filesystem::path& spool) {
    BELAY_TRY(directory, core::Directory::open(spool));
    BELAY_TRY(reader, stream::SpoolReader::open(spool));
    return Backlog(std::move(directory), std::move(reader));
}

// Of the blocks of a file that is sent in part, the offset of the first one that is not.
Result<uint64_t> Backlog::offset_of(const File& file, uint64_t next) {
    auto opened = directory_.open_file(file.name, O_RDONLY);
    if (!opened && opened.error().cause() == core::Cause::kNotFound) return file.bytes;  // it just went
    if (!opened) return std::unexpected(std::move(opened.error()));
    BELAY_TRY(bytes, stream::SegmentBytes::of_file(opened->get(), directory_.path_of(file.name).string()));
    Place& place = places_[file.name];
    if (place.offset == 0 || place.number > next) {
        BELAY_TRY(head, stream::find_head(bytes));
        place = {.number = file.first_block, .offset = head.next};
    }
    while (place.number < next && place.offset < bytes.size()) {
        BELAY_TRY(found, stream::find_block(bytes, place.offset));
        if (!found.header && found.is_tail) break;  // it is being written
        if (found.header) {
            const uint64_t number = file.first_block + found.header->sequence;
            if (number >= next) break;
            place.number = number + 1;
        }
        place.offset = found.next;
    }
    return std::min(place.offset, file.bytes);
}

Result<uint64_t> Backlog::waiting_in(const std::vector<File>& files, uint64_t next) {
    uint64_t waiting = 0;
    for (size_t i = 0; i < files.size(); ++i) {
        const bool is_sent = i + 1 < files.size() && next >= files[i + 1].first_block;
        if (is_sent) {
            places_.erase(files[i].name);
            continue;
        }
        uint64_t sent = 0;
        if (next > files[i].first_block + 1) {  // its session alone is not sent
            BELAY_TRY(offset, offset_of(files[i], next));
            sent = offset;
        }
        waiting += files[i].bytes - sent;
    }
    return waiting;
}

// The time of the first row that is read there.
Result<std::optional<core::Time>> Backlog::time_of(const Cursor& cursor) {
    if (timed_ && timed_->first == cursor) return timed_->second;
    BELAY_TRY(piece, reader_.read(cursor, 1));
    std::optional<core::Time> first;
    BELAY_CHECK(stream::read_segment_bytes(piece.bytes, "piece", [&](const stream::Batch& batch) {
        const stream::ColumnValues& times = batch.values(0);
        for (size_t row = 0; row < batch.rows(); ++row) {
            if (times.present[row] == 0) continue;
            const core::Time time = core::time_from_nanoseconds(times.integers[row]);
            first = first ? std::min(*first, time) : time;
        }
    }));
    // One without a row may be followed by others, and then it is another cursor that is asked for.
    if (!piece.bytes.empty()) timed_ = {cursor, first};
    return first;
}

Result<SpoolUse> Backlog::look(const std::optional<ShipStanding>& standing) {
    SpoolUse use;
    std::map<std::string, std::vector<File>> files;  // by what the names say of the stream
    BELAY_TRY(names, directory_.list());
    for (const std::string& name : names) {
        auto parts = parts_of(name);
        if (!parts) continue;
        BELAY_TRY(facts, directory_.facts(name));
        if (!facts || facts->type != core::FileType::kRegular) continue;
        ++use.files;
        use.bytes += facts->bytes;
        files[parts->stream].push_back({parts->first_block, name, facts->bytes});
    }
    if (!standing) return use;
    std::erase_if(places_,
                  [&](const auto& entry) { return !std::ranges::binary_search(names, entry.first); });
    BELAY_TRY(streams, reader_.streams());
    for (const Cursor& begin : streams) {
        if (standing->not_ours.contains(begin.stream)) continue;
        auto its_files =
            files.find(parts_of(stream::spool_file_name(begin.stream, 0)).value_or(NameParts()).stream);
        if (its_files == files.end()) continue;
        std::ranges::sort(its_files->second, {}, &File::first_block);
        auto found = standing->next.find(begin.stream);
        const uint64_t next = found == standing->next.end() ? begin.next_block : found->second;
        BELAY_TRY(waiting, waiting_in(its_files->second, next));
        use.waiting_bytes += waiting;
        if (waiting == 0 || use.oldest) continue;
        BELAY_TRY(time, time_of({begin.stream, next}));
        use.oldest = time;
    }
    return use;
}

}  // namespace belay::agent
