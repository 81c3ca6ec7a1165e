// The first byte chooses what the rest is: the header of a file in a tar, a manifest, or an index, which then
// gets the magics and the checksum that belong there, because no fuzzer finds those.
#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/manifest.h"
#include "shard/tar_format.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace belay;

namespace {

void read_header(std::string_view bytes) {
    const auto member = shard::parse_tar_header(bytes);
    if (!member) return;
    if (shard::tar_header(member->name, member->bytes) != bytes.substr(0, member->header_bytes)) abort();
}

void read_manifest(std::string_view text) {
    const auto manifest = shard::parse_manifest(text, "fuzz");
    if (!manifest && manifest.error().render().empty()) abort();
    if (manifest && shard::parse_manifest(shard::encode_manifest(*manifest), "fuzz").value() != *manifest)
        abort();
}

void read_index(std::string bytes) {
    constexpr size_t kTrailer = 16;
    if (bytes.size() >= 8 + kTrailer) {
        bytes.replace(0, 8, "BLYTIDX1");
        const uint32_t checksum = shard::crc32c(std::string_view(bytes).substr(0, bytes.size() - kTrailer));
        for (size_t i = 0; i < 8; ++i)
            bytes[bytes.size() - kTrailer + i] = static_cast<char>(i < 4 ? checksum >> (8 * i) : 0);
        bytes.replace(bytes.size() - 8, 8, "BLYTIDXE");
    }
    const auto view = shard::IndexView::open(bytes);
    if (!view) return;
    for (uint64_t i = 0; i < view->size(); ++i) {
        const shard::Record record = (*view)[i];
        if (record.offset + record.bytes > view->tar_bytes() || view->find(record.name) != record) abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 3) {
        case 0:
            read_header(rest);
            break;
        case 1:
            read_manifest(rest);
            break;
        default:
            read_index(std::string(rest));
    }
    return 0;
}
