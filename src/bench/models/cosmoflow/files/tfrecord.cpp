#include "bench/models/cosmoflow/files/tfrecord.h"

#include "shard/crc32c.h"

#include <bit>
#include <cstring>

namespace belay::bench::cosmoflow {

namespace {

using core::bad_input;
using core::Result;

static_assert(std::endian::native == std::endian::little, "numbers are taken as they lie in memory");

constexpr size_t kLengthBytes = sizeof(uint64_t), kChecksumBytes = sizeof(uint32_t);
static_assert(kRecordOverhead == kLengthBytes + 2 * kChecksumBytes);

template <typename Number>
Number number_at(std::string_view bytes, size_t offset) {
    Number number{};
    std::memcpy(&number, bytes.data() + offset, sizeof number);
    return number;
}

// A record at the start of `bytes`.
Result<std::string_view> record_at_start(std::string_view bytes) {
    if (bytes.size() < kLengthBytes + kChecksumBytes)
        return bad_input(
            "{} bytes are too few for the length of a record: the file is cut off, or no TFRecord",
            bytes.size());
    const auto length = number_at<uint64_t>(bytes, 0);
    if (number_at<uint32_t>(bytes, kLengthBytes) != masked_crc32c(bytes.substr(0, kLengthBytes)))
        return bad_input("the checksum of its length is wrong: it is damaged, or no TFRecord");
    bytes.remove_prefix(kLengthBytes + kChecksumBytes);
    if (bytes.size() < kChecksumBytes || length > bytes.size() - kChecksumBytes)
        return bad_input("it should have {} bytes and a checksum, and {} bytes are left: the file is cut off",
                         length, bytes.size());
    const std::string_view record = bytes.substr(0, static_cast<size_t>(length));
    if (number_at<uint32_t>(bytes, record.size()) != masked_crc32c(record))
        return bad_input("the checksum of its {} bytes is wrong: it is damaged", length);
    return record;
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
    constexpr int kTurn = 15;
    constexpr uint32_t kAdded = 0xa282ead8;
    return std::rotr(shard::crc32c(bytes), kTurn) + kAdded;
}

Result<std::string_view> RecordReader::next() {
    auto record = record_at_start(file_.substr(offset_));
    if (!record)
        return std::unexpected(
            std::move(record.error()).context(fmt::format("record {} at byte {}", number_, offset_)));
    offset_ += record->size() + kRecordOverhead;
    ++number_;
    return record;
}

}  // namespace belay::bench::cosmoflow
