// TFRecord, TensorFlow's file of records, one after the other:
//
//   length u64, checksum u32 of these 8 bytes, length bytes, checksum u32 of those
//
// A checksum is a CRC32C turned right by 15 bits, and 0xa282ead8 added: bytes behind which their own CRC stands all have the
// same one. Numbers are little-endian. Sources: tensorflow/core/lib/io/record_writer.{h,cc}, tensorflow/core/lib/hash/crc32c.h.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belay::bench::cosmoflow {

inline constexpr size_t kRecordOverhead = 16;  // bytes of a file beside those of its record

// The checksum as it stands in a file.
uint32_t masked_crc32c(std::string_view bytes);

// Goes through the records of a file that lies in memory, and must stay there. Allocates nothing.
class RecordReader {
  public:
    explicit RecordReader(std::string_view file) : file_(file) {}

    bool at_end() const { return offset_ == file_.size(); }
    // The next record, both of whose checksums were right. Not at the end. Errors: kBadInput, with its number and offset; the
    // next call says the same again.
    core::Result<std::string_view> next();

  private:
    std::string_view file_;
    size_t offset_ = 0;
    size_t number_ = 0;
};

}  // namespace belay::bench::cosmoflow
