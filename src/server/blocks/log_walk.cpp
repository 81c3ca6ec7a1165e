#include "server/blocks/log_walk.h"

#include "stream/segment_format.h"

#include <cstring>

namespace belay::server {

using core::bad_input;
using core::Result;

Result<> LogWalk::take_head() {
    BELAY_TRY(head, bytes_.at(0, kLogHeaderBytes));
    switch (look_at_log_header(head)) {
        case LogHead::kNewer:
            return bad_input("written by a newer version of Belay");
        case LogHead::kForeign:
            note(0, 0, "no header of a block log");
            break;  // records may follow all the same
        case LogHead::kOurs:
            at_ = kLogHeaderBytes;
            break;
    }
    end_ = at_;
    return {};
}

// Where the next header with a right checksum begins; the end where there is none.
Result<uint64_t> LogWalk::find_record(uint64_t from) {
    for (;;) {
        from = bytes_.skip_hole(from);
        BELAY_TRY(rest, bytes_.at(from, kRecordHeaderBytes));
        if (rest.size() < kRecordHeaderBytes) return bytes_.size();
        const size_t places = rest.size() - kRecordHeaderBytes + 1;
        const auto* found =
            static_cast<const char*>(memchr(rest.data(), static_cast<char>(kRecordMagic & 0xFF), places));
        if (found == nullptr) {
            from += places;
            continue;
        }
        const auto skipped = static_cast<size_t>(found - rest.data());
        if (decode_record_header(rest.substr(skipped))) return from + skipped;
        from += skipped + 1;
    }
}

void LogWalk::note(uint64_t at, uint64_t bytes, std::string_view reason) {
    if (damage_.size() < kMaxDamage)
        damage_.push_back({at, bytes, reason});
    else
        damage_.back().bytes = at + bytes - damage_.back().at;
}

Result<std::optional<LogRecord>> LogWalk::next() {
    if (at_ == 0) BELAY_CHECK(take_head());
    while (at_ < bytes_.size()) {
        BELAY_TRY(start, bytes_.at(at_, kRecordHeaderBytes));
        std::optional<RecordHeader> header;
        if (start.size() >= kRecordHeaderBytes) header = decode_record_header(start);
        const uint64_t end = header ? at_ + kRecordHeaderBytes + header->body_bytes : 0;
        std::string_view problem = "foreign or damaged bytes";
        if (header && end <= bytes_.size()) {
            BELAY_TRY(whole, bytes_.at(at_, kRecordHeaderBytes + header->body_bytes));
            const std::string_view body =
                whole.substr(0, kRecordHeaderBytes + header->body_bytes).substr(kRecordHeaderBytes);
            if (body.size() == header->body_bytes && stream::checksum(body) == header->body_crc) {
                LogRecord record{.header = *header, .at = at_, .body = body};
                at_ = end_ = end;
                return std::optional(record);
            }
            problem = "checksum mismatch";
        } else if (header || start.size() < kRecordHeaderBytes) {
            problem = "cut off";
        }
        BELAY_TRY(next, find_record(at_ + 1));
        note(at_, next - at_, problem);
        at_ = next;
    }
    return std::optional<LogRecord>();
}

}  // namespace belay::server
