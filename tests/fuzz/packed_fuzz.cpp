// The first byte chooses what the rest is: a packed file, the payload of one of its parts, which gets the headers and checksums that
// no fuzzer finds, an index, a catalog, or the state of an archive. Whatever it is, what is read of it is whole.
#include "server/archive/archive_state.h"
#include "server/packed/catalog.h"
#include "server/packed/packed_index.h"
#include "server/packed/packed_reader.h"
#include "server/packed/rows_codec.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace belay;
using namespace belay::server;

namespace {

void check_rows(const stream::Batch& rows, size_t count) {
    if (rows.rows() != count) __builtin_trap();
    for (size_t i = 0; i < rows.table().columns.size(); ++i)
        if (rows.values(i).present.size() != count) __builtin_trap();
}

void read_index(const PackedIndex& index) {
    for (size_t i = 0; i < index.streams(); ++i) {
        const std::vector<size_t> found = index.streams_of(index.node_of(i));
        if (std::ranges::find(found, i) == found.end()) __builtin_trap();
        (void)index.stream(i);
        (void)index.parts(i);
    }
}

void read_file(std::string bytes) {
    auto reader = PackedReader::of_bytes(std::move(bytes), "fuzz", Tier::kRaw);
    if (!reader) return;
    read_index((*reader)->index());
    for (size_t i = 0; i < (*reader)->index().streams(); ++i) {
        const auto parts = (*reader)->index().parts(i);
        if (!parts) continue;
        for (const PackedPart& part : *parts) {
            (void)(*reader)->read_piece(part);
            const schema::Table* table = (*reader)->table_of(part);
            if (table == nullptr) continue;
            stream::Batch rows(*table);
            if ((*reader)->read_rows(part, WantedColumns::all(), rows)) check_rows(rows, part.rows);
        }
    }
}

std::string part_of(PartHeader header, std::string_view payload) {
    header.stored_bytes = header.raw_bytes = static_cast<uint32_t>(payload.size());
    header.payload_crc = stream::checksum(payload);
    const auto bytes = encode_part_header(header);
    return std::string(bytes.data(), bytes.size()).append(payload);
}

// A file whose index is lost, so that all of its parts are looked at.
std::string file_of(PartKind kind, uint16_t table, uint32_t rows, std::string_view payload) {
    const auto head = encode_packed_head();
    PackedStream stream;
    stream.session.node = "n";
    stream.session.source = "agent";
    return std::string(head.data(), head.size()) +
           part_of({.kind = kFactsPart}, kind == kFactsPart ? payload : encode_packed_facts({})) +
           part_of({.kind = kStreamPart}, kind == kStreamPart ? payload : encode_packed_stream(stream)) +
           part_of({.kind = kind, .table = table, .rows = rows}, payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.size() < 2) return 0;
    const auto choice = static_cast<uint8_t>(bytes[0]), more = static_cast<uint8_t>(bytes[1]);
    bytes.remove_prefix(2);
    constexpr PartKind kKinds[] = {kFactsPart, kStreamPart, kRowsPart, kPiecePart};
    switch (choice % 6) {
        case 0:
            read_file(std::string(bytes));
            break;
        case 1:
            read_file(file_of(kKinds[more % 4], choice / 6, more / 4, bytes));
            break;
        case 2:
            if (auto index = PackedIndex::of(std::string(bytes))) read_index(*index);
            break;
        case 3:
            if (auto catalog = decode_catalog(bytes)) (void)encode_catalog(*catalog);
            break;
        case 4:
            if (auto runs = parse_block_runs(bytes); runs && to_text(*runs) != bytes) __builtin_trap();
            break;
        default:
            if (auto state = decode_archive_state(bytes))
                if (decode_archive_state(encode_archive_state(*state)) != *state) __builtin_trap();
            break;
    }
    return 0;
}
