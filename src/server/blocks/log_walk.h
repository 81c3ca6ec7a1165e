// Reads a file of a block log record by record, whatever became of it: a record that is damaged, or was cut off when
// its writer was killed, is passed over and told.
#pragma once

#include "core/error.h"
#include "server/blocks/log_format.h"
#include "stream/segment_bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct LogRecord {
    RecordHeader header;
    uint64_t at = 0;        // of the header in the file
    std::string_view body;  // with the right checksum; valid until the next call

    uint64_t body_at() const { return at + kRecordHeaderBytes; }
};

// A part of the file that holds no record.
struct LogDamage {
    uint64_t at = 0;
    uint64_t bytes = 0;
    std::string_view reason;
};

class LogWalk {
  public:
    // From the beginning, or from where the file had a record's end before.
    explicit LogWalk(stream::SegmentBytes bytes, uint64_t from = 0) : bytes_(std::move(bytes)), at_(from) {}

    // Nothing at the end. Errors: kBadInput for a file of a newer version, of which nothing is read; kSystem.
    core::Result<std::optional<LogRecord>> next();
    // Where the last whole record ended.
    uint64_t end() const { return end_; }
    // At most kMaxDamage places are told, the last of which goes on to the end of the damage.
    static constexpr size_t kMaxDamage = 1000;
    const std::vector<LogDamage>& damage() const { return damage_; }

  private:
    core::Result<> take_head();
    core::Result<uint64_t> find_record(uint64_t from);
    void note(uint64_t at, uint64_t bytes, std::string_view reason);

    stream::SegmentBytes bytes_;
    uint64_t at_;
    uint64_t end_ = 0;
    std::vector<LogDamage> damage_;
};

}  // namespace belay::server
