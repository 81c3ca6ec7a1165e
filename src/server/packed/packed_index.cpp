#include "server/packed/packed_index.h"

#include "stream/column_codec.h"

#include <algorithm>
#include <limits>

namespace belay::server {

using core::bad_input;
using core::Result;
using stream::put_varint;
using stream::take_varint;

namespace {

void put_text(std::string& out, std::string_view text) {
    put_varint(out, text.size());
    out += text;
}

Result<std::string_view> take_text(std::string_view& in) {
    BELAY_TRY(size, take_varint(in));
    if (size > in.size()) return bad_input("the index ends early");
    const std::string_view text = in.substr(0, static_cast<size_t>(size));
    in.remove_prefix(static_cast<size_t>(size));
    return text;
}

template <typename Number>
Result<Number> take_at_most(std::string_view& in, uint64_t most = std::numeric_limits<Number>::max()) {
    BELAY_TRY(value, take_varint(in));
    if (value > most) return bad_input("a number of the index is too large");
    return static_cast<Number>(value);
}

Result<PackedPart> take_part(std::string_view& in, uint64_t end, int64_t first) {
    PackedPart part;
    if (in.empty()) return bad_input("the index ends early");
    part.kind = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    BELAY_TRY(table, take_at_most<uint16_t>(in));
    BELAY_TRY(rows, take_at_most<uint32_t>(in));
    BELAY_TRY(at, take_at_most<uint64_t>(in, std::numeric_limits<uint64_t>::max() / 4));
    BELAY_TRY(stored, take_at_most<uint32_t>(in, kMaxPartBytes));
    BELAY_TRY(raw, take_at_most<uint32_t>(in, kMaxPartBytes));
    BELAY_TRY(moved, take_varint(in));
    BELAY_TRY(span, take_varint(in));
    if (part.kind == kRowsPart && rows > kMaxPartRows) return bad_input("a part with too many rows");
    part.table = table;
    part.rows = rows;
    part.at = end + at;
    if (part.at > std::numeric_limits<uint64_t>::max() / 2) return bad_input("a part beyond any file");
    part.stored_bytes = stored;
    part.raw_bytes = raw;
    // As they were written they do not wrap around.
    const uint64_t begin =
        static_cast<uint64_t>(first) +
        static_cast<uint64_t>(static_cast<int64_t>(moved >> 1) ^ -static_cast<int64_t>(moved & 1));
    part.first_time = core::time_from_nanoseconds(static_cast<int64_t>(begin));
    part.last_time = core::time_from_nanoseconds(static_cast<int64_t>(begin + span));
    return part;
}

}  // namespace

uint32_t PackedIndexBuilder::add_stream(std::string stream) {
    streams_.push_back({.stream = std::move(stream), .parts = {}});
    return static_cast<uint32_t>(streams_.size() - 1);
}

void PackedIndexBuilder::add_part(const PackedPart& part) {
    Entry& entry = streams_[part.stream];
    const int64_t first = core::to_nanoseconds(part.first_time);
    const auto moved =
        static_cast<int64_t>(static_cast<uint64_t>(first) - static_cast<uint64_t>(entry.first));
    entry.parts.push_back(static_cast<char>(part.kind));
    put_varint(entry.parts, part.table);
    put_varint(entry.parts, part.rows);
    put_varint(entry.parts, part.at - entry.end);
    put_varint(entry.parts, part.stored_bytes);
    put_varint(entry.parts, part.raw_bytes);
    put_varint(entry.parts, (static_cast<uint64_t>(moved) << 1) ^ static_cast<uint64_t>(moved >> 63));
    put_varint(entry.parts,
               static_cast<uint64_t>(core::to_nanoseconds(part.last_time)) - static_cast<uint64_t>(first));
    entry.end = part.end();
    entry.first = first;
    ++entry.count;
}

std::string PackedIndexBuilder::finish() const {
    std::string out;
    put_text(out, facts_);
    put_varint(out, streams_.size());
    for (const Entry& entry : streams_) {
        put_text(out, entry.stream);
        put_varint(out, entry.count);
        put_text(out, entry.parts);
    }
    return out;
}

Result<PackedIndex> PackedIndex::of(std::string payload) {
    PackedIndex index;
    index.payload_ = std::move(payload);
    std::string_view in = index.payload_;
    const auto place_of = [&](std::string_view text) {
        return Place{static_cast<size_t>(text.data() - index.payload_.data()), text.size()};
    };
    BELAY_TRY(facts_text, take_text(in));
    BELAY_TRY(facts, decode_packed_facts(facts_text));
    index.facts_ = std::move(facts);
    BELAY_TRY(count, take_at_most<uint32_t>(in, kMaxPackedStreams));
    for (uint32_t i = 0; i < count; ++i) {
        BELAY_TRY(stream, take_text(in));
        BELAY_TRY(parts_count, take_varint(in));
        BELAY_TRY(parts, take_text(in));
        BELAY_TRY(node, node_of_packed_stream(stream));
        // A part takes 8 bytes at least, so a count that is too high cannot ask for much memory.
        if (parts_count > parts.size()) return bad_input("more parts than the index has room for");
        index.entries_.push_back({.node = place_of(node),
                                  .stream = place_of(stream),
                                  .parts = place_of(parts),
                                  .count = parts_count});
    }
    if (!in.empty()) return bad_input("bytes after the index");
    for (size_t i = 1; i < index.entries_.size(); ++i)
        index.is_by_node_ &= index.node_of(i - 1) <= index.node_of(i);
    return index;
}

std::vector<size_t> PackedIndex::streams_of(std::string_view node) const {
    std::vector<size_t> streams;
    size_t at = 0;
    if (is_by_node_) {
        const auto first = std::ranges::lower_bound(entries_, node, {},
                                                    [&](const Entry& entry) { return view(entry.node); });
        at = static_cast<size_t>(first - entries_.begin());
    }
    for (; at < entries_.size() && (!is_by_node_ || node_of(at) == node); ++at)
        if (node_of(at) == node) streams.push_back(at);
    return streams;
}

Result<PackedStream> PackedIndex::stream(size_t number) const {
    return decode_packed_stream(view(entries_[number].stream));
}

Result<std::vector<PackedPart>> PackedIndex::parts(size_t stream) const {
    std::vector<PackedPart> parts;
    std::string_view in = view(entries_[stream].parts);
    uint64_t end = 0;
    int64_t first = 0;
    for (uint64_t i = 0; i < entries_[stream].count; ++i) {
        BELAY_TRY(part, take_part(in, end, first));
        part.stream = static_cast<uint32_t>(stream);
        end = part.end();
        first = core::to_nanoseconds(part.first_time);
        parts.push_back(part);
    }
    if (!in.empty()) return bad_input("bytes after the parts of a stream");
    return parts;
}

}  // namespace belay::server
