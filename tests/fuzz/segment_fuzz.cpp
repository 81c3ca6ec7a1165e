// The first byte chooses what the rest is: a whole segment, a manifest, or the payload of one block, which
// then gets a header with correct checksums, because no fuzzer finds those.
#include "record/manifest.h"
#include "stream/segment.h"
#include "stream/segment_format.h"

#include <cstdint>
#include <string>
#include <string_view>

using namespace belay;

namespace {

void read(std::string_view bytes) {
    uint64_t rows = 0;
    auto summary = stream::read_segment_bytes(bytes, "fuzz", [&](const stream::Batch& batch) {
        rows += batch.rows();
        for (size_t i = 0; i < batch.table().columns.size(); ++i)
            if (batch.values(i).present.size() != batch.rows()) __builtin_trap();
    });
    if (!summary || summary->rows != rows) __builtin_trap();
}

std::string block(stream::BlockKind kind, uint16_t table, uint32_t rows, std::string_view payload) {
    auto header = stream::encode_block_header({.kind = kind,
                                               .table = table,
                                               .rows = rows,
                                               .stored_bytes = static_cast<uint32_t>(payload.size()),
                                               .raw_bytes = static_cast<uint32_t>(payload.size()),
                                               .payload_crc = stream::checksum(payload)});
    return std::string(header.data(), header.size()) + std::string(payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.empty()) return 0;
    auto choice = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    std::string file(stream::kSegmentMagic);
    file.resize(stream::kFileHeaderBytes, '\0');
    switch (choice % 4) {
        case 0:
            read(bytes);
            break;
        case 1:
            (void)record::manifest_from_json(bytes, "record.json");
            break;
        case 2:
            read(file + block(stream::kSessionBlock, 0, 0, bytes));
            break;
        default:
            read(file + block(stream::kRowsBlock, choice / 4 % 10, choice / 40 * 7, bytes));
            break;
    }
    return 0;
}
