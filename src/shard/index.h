// The index of a shard, NAME-000000.idx: where each record lies in the tar, its checksum and its sample, found by name in a
// binary search over the file as it is mapped (docs/formats/shard-index.md).
//
//   header   32 bytes          BLYTIDX1, version:u32 = 1, flags:u32 = 0, count:u64, tar_bytes:u64
//   entries  32 bytes each     offset:u64, bytes:u64, name_offset:u32, name_bytes:u16, flags:u16 = 0, crc32c:u32, sample:u32
//   names    names_bytes:u64, the names one after the other
//   trailer  16 bytes          crc32c:u32 of all before, zero:u32, BLYTIDXE
//
// Entries stand in the order of their names, as bytes; numbers are little-endian. Samples count from 0 in the order of the tar.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::shard {

struct Record {
    std::string name;
    uint64_t offset = 0;  // of the content in the tar
    uint64_t bytes = 0;
    uint32_t checksum = 0;  // CRC32C of the content
    uint32_t sample = 0;
    bool operator==(const Record&) const = default;
};

// The longest that an index can hold.
inline constexpr size_t kLongestRecordName = 65535;

// Records in any order. Errors: kBadInput for a name that is longer, or twice there; for more than 4 GiB of
// names.
core::Result<std::string> encode_index(std::vector<Record> records, uint64_t tar_bytes);

// How long the index of so many records can be: an index is not read beyond it.
uint64_t most_index_bytes(uint64_t records);

// An index that lies in memory, as long as the bytes do. Nothing of it is believed before it has been
// checked.
class IndexView {
  public:
    // Errors: kBadInput, with what is wrong: too short, another version, a checksum that differs, entries
    // that are out of order or lead out of the tar.
    static core::Result<IndexView> open(std::string_view bytes);

    uint64_t size() const { return count_; }
    uint64_t tar_bytes() const { return tar_bytes_; }
    Record operator[](uint64_t number) const;
    std::optional<Record> find(std::string_view name) const;

  private:
    IndexView() = default;
    std::string_view name(uint64_t number) const;
    core::Result<> check() const;

    std::string_view entries_;
    std::string_view names_;
    uint64_t count_ = 0;
    uint64_t tar_bytes_ = 0;
};

}  // namespace belay::shard
