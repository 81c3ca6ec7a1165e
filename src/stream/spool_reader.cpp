#include "stream/spool_reader.h"

#include "core/tell.h"
#include "stream/block_walk.h"
#include "stream/liveness.h"
#include "stream/segment_session.h"
#include "stream/spool.h"
#include "stream/unpack.h"

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <set>
#include <utility>

namespace belay::stream {

using core::Result;

namespace {

constexpr size_t kMaxFiles = 100'000;    // in one spool: a thousand a week at the shipped limits
constexpr size_t kMaxStreams = 100'000;  // of which places are remembered

struct FoundSession {
    Session session;
    uint64_t end = 0;  // of its block
};

// The session, with which a file of a spool begins; nothing where it is not written yet. Errors: kBadInput
// for anything else; kSystem.
Result<std::optional<FoundSession>> read_session(SegmentBytes& bytes) {
    BELAY_TRY(head, find_head(bytes));
    if (head.head == FileHead::kForeign) return core::bad_input("no segment header");
    if (head.head == FileHead::kNewer) return core::bad_input("written by a newer version of Belay");
    if (head.next < kFileHeaderBytes) return std::optional<FoundSession>();
    BELAY_TRY(found, find_block(bytes, head.next));
    if (!found.header && found.is_tail) return std::optional<FoundSession>();
    if (!found.header || found.header->kind != kSessionBlock || found.header->sequence != 0)
        return core::bad_input("does not begin with a session");
    const auto whole = static_cast<size_t>(found.bytes());
    BELAY_TRY(block, bytes.at(found.at, whole));
    if (block.size() < whole) return std::optional<FoundSession>();
    BELAY_TRY(payload,
              Unpacker().unpack(*found.header, block.substr(kBlockHeaderBytes, found.header->stored_bytes)));
    BELAY_TRY(written, decode_session(payload));
    return std::optional(FoundSession{std::move(written.session), found.next});
}

}  // namespace

// The blocks of one file from the cursor on, as they are added to a piece.
class SpoolReader::Walk {
  public:
    Walk(SegmentBytes& bytes, const File& file, bool is_last, size_t limit, Piece& piece)
        : bytes_(bytes),
          file_(file),
          is_last_(is_last),
          limit_(limit),
          piece_(piece),
          place_{.file = file.name, .number = file.head.first_block + 1, .offset = file.head.bytes} {}

    // Behind the block that was seen there the last time, before that which the cursor names, if it still
    // stands.
    Result<> start_behind(const Place& seen) {
        if (seen.file != file_.name || seen.number >= piece_.next.next_block) return {};
        if (seen.offset < file_.head.bytes) return {};
        BELAY_TRY(found, find_block(bytes_, seen.offset));
        if (!found.header || file_.head.first_block + found.header->sequence != seen.number) return {};
        place_.number = seen.number + 1;
        place_.offset = found.next;
        return {};
    }

    Result<> run() {
        bool goes_on = place_.offset < bytes_.size();
        while (goes_on) {
            BELAY_TRY(found, find_block(bytes_, place_.offset));
            BELAY_TRY(more, found.header ? take(found) : pass_over(found, found.problem));
            goes_on = more && place_.offset < bytes_.size();
        }
        return {};
    }
    // The last whole block; without one nothing was added to the piece.
    const Place& seen() const { return seen_; }

  private:
    // False where reading ends.
    Result<bool> take(const FoundBlock& found) {
        const auto whole = static_cast<size_t>(found.bytes());
        const uint64_t number = file_.head.first_block + found.header->sequence;
        const bool is_wanted = number >= piece_.next.next_block;
        if (is_wanted && !piece_.bytes.empty() && piece_.bytes.size() + whole > limit_) return false;
        BELAY_TRY(block, bytes_.at(found.at, whole));
        if (block.size() < whole) return false;  // it is being cut off
        if (number < place_.number) return pass_over(found, "a block that is out of order");
        if (is_wanted && checksum(block.substr(kBlockHeaderBytes, found.header->stored_bytes)) !=
                             found.header->payload_crc)
            return pass_over(found, "checksum mismatch");
        if (is_wanted && number > piece_.next.next_block && !has_noted_ && number > place_.number)
            note(found.at, 0, fmt::format("{} blocks are missing", number - place_.number));
        if (is_wanted) BELAY_CHECK(add(number, found.at, whole));
        seen_ = {.file = file_.name, .number = number, .offset = found.at};
        place_.number = number + 1;
        place_.offset = found.next;
        has_noted_ = false;
        return true;
    }

    Result<bool> pass_over(const FoundBlock& found, std::string_view problem) {
        // What stands at the end of the last file may be a block that is being written.
        if (is_last_ && found.next >= bytes_.size()) {
            if (piece_.bytes.empty()) note(found.at, found.bytes(), std::string(problem));
            return false;
        }
        if (!piece_.bytes.empty()) return false;  // told with the block behind it, and so only once
        if (place_.number >= piece_.next.next_block) note(found.at, found.bytes(), std::string(problem));
        place_.offset = found.next;
        return true;
    }

    Result<> add(uint64_t number, uint64_t at, size_t whole) {
        if (piece_.bytes.empty()) {
            BELAY_TRY(head, bytes_.at(0, static_cast<size_t>(file_.head.bytes)));
            piece_.bytes = head.substr(0, static_cast<size_t>(file_.head.bytes));
        }
        BELAY_TRY(block, bytes_.at(at, whole));
        piece_.bytes.append(block.substr(0, whole));
        piece_.next.next_block = number + 1;
        return {};
    }

    void note(uint64_t offset, uint64_t bytes, std::string reason) {
        has_noted_ = true;
        if (piece_.lost.size() < kMaxLost)
            piece_.lost.push_back({file_.name, offset, bytes, std::move(reason)});
    }

    SegmentBytes& bytes_;
    const File& file_;
    bool is_last_;
    size_t limit_;
    Piece& piece_;
    Place place_;  // of the next block
    Place seen_;
    bool has_noted_ = false;  // damage since the block before
};

Result<SpoolReader> SpoolReader::open(const std::filesystem::path& spool) {
    BELAY_TRY(directory, core::Directory::open(spool));
    return SpoolReader(std::move(directory));
}

// Nothing where it is gone.
Result<std::optional<SegmentBytes>> SpoolReader::open_file(const std::string& name, core::Descriptor& file) {
    auto opened = directory_.open_file(name, O_RDONLY);
    if (!opened && opened.error().cause() == core::Cause::kNotFound) return std::optional<SegmentBytes>();
    if (!opened) return std::unexpected(std::move(opened.error()));
    file = std::move(*opened);
    BELAY_TRY(bytes, SegmentBytes::of_file(file.get(), directory_.path_of(name).string()));
    return std::optional(std::move(bytes));
}

Result<> SpoolReader::look_at(const std::string& name) {
    core::Descriptor file;
    BELAY_TRY(bytes, open_file(name, file));
    if (!bytes) return {};
    Unread& unread = unread_[name];
    unread = {.bytes = bytes->size()};
    BELAY_TRY(found, read_session(*bytes));
    if (!found) return {};
    Head head{
        .stream = found->session.stream(), .first_block = found->session.first_block, .bytes = found->end};
    if (!has_usable_names(head.stream)) return core::bad_input("names a stream in too many letters");
    unread_.erase(name);
    heads_.emplace(name, std::move(head));
    return {};
}

// Of a file that was no stream's when it was looked at: opening thousands of them for every piece would take
// longer than reading the streams.
Result<bool> SpoolReader::is_as_before(const std::string& name) {
    const auto before = unread_.find(name);
    if (before == unread_.end()) return false;
    BELAY_TRY(facts, directory_.facts(name));
    return facts && facts->bytes == before->second.bytes;
}

Result<> SpoolReader::look() {
    BELAY_TRY(names, directory_.list());
    std::erase_if(names, [](const std::string& name) { return !is_spool_file_name(name); });
    left_out_.clear();
    if (names.size() > kMaxFiles) {
        left_out_.push_back({directory_.path().string(), 0, 0,
                             fmt::format("has more than {} files: the oldest are left out", kMaxFiles)});
        names.erase(names.begin(), names.end() - kMaxFiles);
    }
    const std::set<std::string> there(names.begin(), names.end());
    auto is_gone = [&](const auto& entry) { return !there.contains(entry.first); };
    std::erase_if(heads_, is_gone);
    std::erase_if(unread_, is_gone);
    for (const std::string& name : names) {
        if (heads_.contains(name)) continue;
        BELAY_TRY(is_known, is_as_before(name));
        if (is_known) continue;
        auto looked = look_at(name);
        if (looked) continue;
        // What this machine or this user lacks says nothing of the file.
        if (looked.error().kind() == core::ErrorKind::kSystem) return looked;
        BELAY_TRY(facts, directory_.facts(name));
        unread_[name] = {.bytes = facts ? facts->bytes : 0, .reason = core::in_one_line(looked.error())};
    }
    for (const auto& [name, unread] : unread_)
        if (!unread.reason.empty()) left_out_.push_back({name, 0, 0, unread.reason});
    return {};
}

std::vector<SpoolReader::File> SpoolReader::files_of(const StreamId& stream) const {
    std::vector<File> files;
    for (const auto& [name, head] : heads_)
        if (head.stream == stream) files.push_back({name, head});
    std::ranges::stable_sort(files, {}, [](const File& file) { return file.head.first_block; });
    return files;
}

Result<std::vector<Cursor>> SpoolReader::streams() {
    BELAY_CHECK(look());
    std::map<StreamId, uint64_t> first;
    for (const auto& [name, head] : heads_) {
        auto [entry, is_new] = first.try_emplace(head.stream, head.first_block);
        if (!is_new) entry->second = std::min(entry->second, head.first_block);
    }
    std::vector<Cursor> cursors;
    for (const auto& [stream, block] : first) cursors.push_back({stream, block});
    std::ranges::stable_sort(cursors, {}, [](const Cursor& cursor) { return cursor.stream.began; });
    return cursors;
}

// Whether a part of the piece was found there, or it was gone.
Result<bool> SpoolReader::read_file(const File& file, bool is_last, size_t limit, Piece& piece) {
    core::Descriptor descriptor;
    BELAY_TRY(bytes, open_file(file.name, descriptor));
    if (!bytes) return false;
    Walk walk(*bytes, file, is_last, limit, piece);
    if (auto place = places_.find(piece.next.stream); place != places_.end())
        BELAY_CHECK(walk.start_behind(place->second));
    const size_t lost_before = piece.lost.size();
    BELAY_CHECK(walk.run());
    if (is_last && piece.bytes.empty()) {  // damage is told when a block comes behind it
        const auto tail = piece.lost.begin() + static_cast<std::ptrdiff_t>(lost_before);
        if (segment_lock(descriptor.get()) != SegmentLock::kHeld) piece.tail.assign(tail, piece.lost.end());
        piece.lost.erase(tail, piece.lost.end());
    }
    if (places_.size() >= kMaxStreams) places_.clear();
    if (!piece.bytes.empty()) places_[piece.next.stream] = walk.seen();
    return !piece.bytes.empty();
}

// The directory is listed anew only where the known files give nothing more.
Result<Piece> SpoolReader::read(const Cursor& from, size_t limit) {
    BELAY_TRY(piece, read_known(from, limit));
    if (!piece.bytes.empty()) return piece;
    BELAY_CHECK(look());
    return read_known(from, limit);
}

Result<Piece> SpoolReader::read_known(const Cursor& from, size_t limit) {
    Piece piece{.bytes = {}, .next = from};
    const std::vector<File> files = files_of(from.stream);
    for (size_t i = 0; i < files.size(); ++i) {
        const bool is_last = i + 1 == files.size();
        uint64_t& number = piece.next.next_block;
        if (!is_last && files[i + 1].head.first_block <= number) continue;
        const uint64_t first = files[i].head.first_block;
        if (number < first) {
            if (piece.lost.empty()) {  // else the file before was damaged, and said so
                if (piece.gone_blocks == 0) piece.gone_first = number;
                piece.gone_blocks += first - number;
            }
            number = first;
        }
        number = std::max(number, first + 1);  // its session comes with every piece
        BELAY_TRY(found, read_file(files[i], is_last, limit, piece));
        if (found) return piece;
    }
    return piece;
}

}  // namespace belay::stream
