// Appends to a block log: a directory of files into which one belayd writes, one after the other, and others read.
//
//   BELAY_TRY(log, LogWriter::open(directory, "a1", {}));
//   BELAY_TRY(place, log.append(record, streams));         // in the file, not yet on the disk
//   BELAY_CHECK(log.sync(place.end));                      // now it is; may wait for the sync of another thread
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "server/blocks/log_format.h"
#include "stream/stream_id.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

struct LogLimits {
    uint64_t file_bytes = uint64_t{1} << 30;              // then the next file is begun
    core::Duration file_time = std::chrono::minutes(10);  // likewise
};

// Of files, the oldest first: "BEGAN-WRITER.blk", nanoseconds in 16 hexadecimal digits.
std::string log_file_name(core::Time began, std::string_view writer);
bool is_log_file_name(std::string_view name);
bool is_of_writer(std::string_view log_file_name, std::string_view writer);

// Blocks of one session, to be appended.
struct NewBlocks {
    stream::StreamId stream;
    std::string_view head;     // of their segment: stands once in each file
    uint64_t first_block = 0;  // of the session
    std::string_view bytes;
    BlockRun blocks;
    core::Time first_time, last_time;  // of their rows; the latter before the former where they have none
};

// Where blocks lie.
struct LogPlace {
    std::string file;
    uint64_t head_at = 0;  // of the session record's body
    uint32_t head_bytes = 0;
    uint64_t at = 0;      // of the blocks
    uint64_t ticket = 0;  // for sync()
};

class LogWriter {
  public:
    // `writer`: the name of this belayd, letters and digits. Nothing is made before the first append(). The clock outlives this.
    static core::Result<std::unique_ptr<LogWriter>> open(core::Directory directory, std::string writer,
                                                         const LogLimits& limits,
                                                         core::Clock& clock = core::system_clock());

    // `streams` gives the body of the record with which a new file begins. After an error the file ends with a
    // whole record, and appending may be tried again. Not thread-safe. Errors: kSystem (kNoSpace).
    core::Result<LogPlace> append(const NewBlocks& blocks, const std::function<std::string()>& streams);
    // Waits until everything up to the ticket is on the disk. Thread-safe, also beside append(): threads that wait
    // at the same time share one fdatasync(2). Errors: kSystem, now and from then on: what a kernel that failed to
    // write a page has of it cannot be known, so a writer that failed once has to be opened anew.
    core::Result<> sync(uint64_t ticket);
    const std::string& writer() const { return writer_; }

  private:
    LogWriter(core::Directory directory, std::string writer, const LogLimits& limits, core::Clock& clock)
        : directory_(std::move(directory)), writer_(std::move(writer)), limits_(limits), clock_(&clock) {}
    bool is_full() const;
    core::Result<> begin_file(const std::function<std::string()>& streams);
    core::Result<> write_record(RecordHeader header, std::string_view body);
    struct Head {
        uint32_t session = 0;
        uint64_t at = 0;
        uint32_t bytes = 0;
    };
    core::Result<Head> head_of(const NewBlocks& blocks);

    core::Directory directory_;
    std::string writer_;
    LogLimits limits_;
    core::Clock* clock_;
    std::shared_ptr<core::Descriptor> file_;  // shared with a sync() that began before the next file did
    std::string name_;
    uint64_t size_ = 0;
    core::Duration opened_{};  // monotonic
    core::Time last_began_ =
        core::Time::min();  // of the last file: one that is packed and gone keeps its name to itself
    std::map<std::pair<stream::StreamId, uint64_t>, Head> heads_;  // that the file has

    // What sync() shares: tickets count bytes of all files.
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<core::Descriptor> syncing_file_;
    uint64_t written_ = 0;
    uint64_t synced_ = 0;
    bool is_syncing_ = false;
    std::optional<core::Error> failed_;
};

}  // namespace belay::server
