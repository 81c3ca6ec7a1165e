#include "server/packed/packed_walk.h"

#include "server/packed/packed_index.h"
#include "stream/segment_format.h"
#include "stream/unpack.h"

#include <cstring>
#include <map>
#include <optional>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr size_t kWalkWindow = size_t{1} << 20;
constexpr size_t kMostDamage = 1000;

// Puts an index together of parts as they are found.
class FoundIndex {
  public:
    explicit FoundIndex(Tier tier) {
        facts_.tier = tier;
        text_ = encode_packed_facts(facts_);
    }

    // Why the part is of no use; nothing if it is.
    std::optional<std::string_view> take(uint64_t at, const PartHeader& header, const std::string& payload) {
        switch (header.kind) {
            case kFactsPart:
                if (!decode_packed_facts(payload)) return "the facts are malformed";
                text_ = payload;
                return std::nullopt;
            case kStreamPart:
                if (!decode_packed_stream(payload)) return "a stream is malformed";
                streams_.try_emplace(header.stream, payload);
                return std::nullopt;
            case kRowsPart:
            case kPiecePart:
                if (!streams_.contains(header.stream)) return "rows of a stream that is lost";
                parts_[header.stream].push_back({.at = at,
                                                 .kind = header.kind,
                                                 .table = header.table,
                                                 .stream = header.stream,
                                                 .rows = header.rows,
                                                 .stored_bytes = header.stored_bytes,
                                                 .raw_bytes = header.raw_bytes,
                                                 .first_time = header.first_time,
                                                 .last_time = header.last_time});
                return std::nullopt;
            default:
                return std::nullopt;  // the index itself, or a kind of a newer version
        }
    }

    std::string finish() const {
        PackedIndexBuilder builder(text_);
        for (const auto& [number, stream] : streams_) {
            const uint32_t now = builder.add_stream(stream);
            const auto found = parts_.find(number);
            if (found == parts_.end()) continue;
            for (PackedPart part : found->second) {
                part.stream = now;
                builder.add_part(part);
            }
        }
        return builder.finish();
    }

  private:
    PackedFacts facts_;
    std::string text_;
    std::map<uint32_t, std::string> streams_;
    std::map<uint32_t, std::vector<PackedPart>> parts_;
};

void note_damage(std::vector<PackedDamage>& all, uint64_t at, uint64_t bytes, std::string_view reason) {
    if (all.size() < kMostDamage)
        all.push_back({at, bytes, std::string(reason)});
    else
        all.back().bytes = at + bytes - all.back().at;
}

}  // namespace

Result<std::string> unpack_part(const PartHeader& header, std::string_view stored) {
    thread_local stream::Unpacker unpacker;  // keeps what zstd needs
    return unpacker.unpack({.kind = stream::kRowsBlock,
                            .compression = header.compression,
                            .stored_bytes = header.stored_bytes,
                            .raw_bytes = header.raw_bytes,
                            .payload_crc = header.payload_crc},
                           stored);
}

// Where the next header with a right checksum begins; the end where there is none.
Result<uint64_t> PackedWalk::next_part(uint64_t from) {
    while (from + kPartHeaderBytes <= size_) {
        BELAY_TRY(window, bytes_(from, kWalkWindow));
        if (window.size() < kPartHeaderBytes) return size_;
        const size_t places = window.size() - kPartHeaderBytes + 1;
        for (size_t at = 0; at < places;) {
            const auto* found = static_cast<const char*>(
                memchr(window.data() + at, static_cast<char>(kPartMagic & 0xFF), places - at));
            if (found == nullptr) break;
            at = static_cast<size_t>(found - window.data());
            if (decode_part_header(std::string_view(window).substr(at))) return from + at;
            ++at;
        }
        from += places;
    }
    return size_;
}

Result<FoundParts> PackedWalk::find_all(Tier tier) {
    FoundIndex found(tier);
    FoundParts parts;
    BELAY_TRY(head, bytes_(0, kPackedHeadBytes));
    const bool has_head = look_at_packed_head(head) == PackedHead::kOurs;
    if (!has_head) note_damage(parts.damage, 0, 0, "no header of a packed file");
    for (uint64_t at = has_head ? kPackedHeadBytes : 0; at < size_;) {
        BELAY_TRY(start, bytes_(at, kPartHeaderBytes));
        std::optional<PartHeader> header;
        if (start.size() == kPartHeaderBytes) header = decode_part_header(start);
        const uint64_t end = header ? at + kPartHeaderBytes + header->stored_bytes : 0;
        if (header && end <= size_) {
            // Rows are looked at when they are asked for.
            std::string payload;
            std::optional<std::string_view> problem;
            if (header->kind == kFactsPart || header->kind == kStreamPart) {
                BELAY_TRY(stored, bytes_(at + kPartHeaderBytes, header->stored_bytes));
                auto unpacked = unpack_part(*header, stored);
                if (!unpacked && unpacked.error().kind() == core::ErrorKind::kSystem)
                    return std::unexpected(std::move(unpacked.error()));
                if (unpacked)
                    payload = std::move(*unpacked);
                else
                    problem = "a part is damaged";
            }
            if (!problem) problem = found.take(at, *header, payload);
            if (problem) note_damage(parts.damage, at, end - at, *problem);
            at = end;
            continue;
        }
        BELAY_TRY(next, next_part(at + 1));
        note_damage(parts.damage, at, next - at, header ? "cut off" : "foreign or damaged bytes");
        at = next;
    }
    parts.index = found.finish();
    return parts;
}

}  // namespace belay::server
