// The first byte chooses what the rest is: a cursor, a file of a spool, the blocks behind a session that is
// right, or a session. A reader of the spool must come to an end, go forward only, and hand on segments.
#include "core/file.h"
#include "stream/block_encoder.h"
#include "stream/segment_format.h"
#include "stream/spool_reader.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

using namespace belay;

namespace {

const core::TemporaryDirectory& place() {
    static const auto directory = core::TemporaryDirectory::create("spool_fuzz");
    return directory.value();
}

void parse(std::string_view text) {
    if (auto cursor = stream::parse_cursor(text); cursor && to_text(*cursor) != text) __builtin_trap();
}

void put(const char* name, std::string_view bytes) {
    std::ofstream(place().path() / name) << bytes;
}

void read_all(size_t limit) {
    auto spool = stream::SpoolReader::open(place().path());
    if (!spool) __builtin_trap();
    auto cursors = spool->streams().value();
    for (stream::Cursor& cursor : cursors) {
        for (;;) {
            auto piece = spool->read(cursor, limit);
            if (!piece || piece->next < cursor) __builtin_trap();
            if (piece->bytes.empty()) break;
            if (piece->next == cursor) __builtin_trap();
            cursor = piece->next;
            auto summary = stream::read_segment_bytes(piece->bytes, "piece", [](const stream::Batch&) {});
            if (!summary || !summary->session || summary->session->stream() != cursor.stream)
                __builtin_trap();
        }
        if (!stream::has_usable_names(cursor.stream)) __builtin_trap();
        parse(to_text(cursor));
    }
}

std::string with_session(std::string_view payload) {
    std::string file(stream::kSegmentMagic);
    file.resize(stream::kFileHeaderBytes, '\0');
    auto header = stream::encode_block_header({.kind = stream::kSessionBlock,
                                               .stored_bytes = static_cast<uint32_t>(payload.size()),
                                               .raw_bytes = static_cast<uint32_t>(payload.size()),
                                               .payload_crc = stream::checksum(payload)});
    return file.append(header.data(), header.size()).append(payload);
}

// Each byte is a block: its sequence, kind, and whether something lies between it and the next.
std::string blocks(std::string_view bytes) {
    std::string all;
    uint32_t sequence = 0;
    for (char byte : bytes.substr(0, 64)) {
        const auto choice = static_cast<uint8_t>(byte);
        sequence += choice % 8 == 7 ? 0U - 3U : choice % 8;
        auto header = stream::encode_block_header({.kind = static_cast<uint8_t>(choice / 8 % 5),
                                                   .sequence = sequence,
                                                   .payload_crc = stream::checksum({})});
        all.append(header.data(), header.size());
        if (choice >= 192) all += "damage";
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.empty()) return 0;
    const auto choice = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    const stream::Session session{.node = "n1", .source = "agent"};
    put("b.seg", "");
    switch (choice % 4) {
        case 0:
            parse(bytes);
            return 0;
        case 1:
            put("a.seg", bytes);
            break;
        case 2: {
            stream::Session later = session;
            later.first_block = choice;
            put("a.seg", stream::encode_head(session) + blocks(bytes));
            put("b.seg", stream::encode_head(later) + blocks(bytes.substr(0, bytes.size() / 2)));
            break;
        }
        default:
            put("a.seg", with_session(bytes));
            break;
    }
    read_all(choice / 4 % 2 == 0 ? 1 : 200);
    return 0;
}
