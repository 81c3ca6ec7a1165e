// What belayd does with the blocks that agents upload: each is stored once, and acknowledged when it is on the disk.
//
//   BELAY_TRY(intake, Intake::open("/var/lib/belay/blocks", "a1", {}));
//   BELAY_TRY(accepted, intake->accept(piece));             // the agent goes on at accepted.next_block
//
// Several belayd write into one directory, each into files of its own; an agent may go from one to another. Each block
// has an identity, its stream and number, so what was uploaded twice is stored once, or, where two belayd took it, read once.
//
// Who follows jobs takes what was new from each Accepted: shares, and how far the rows go. What was stored while nobody
// listened, before a crash or by another belayd, is read again:
//
//   for (const std::string& node : intake->nodes())
//       for (const stream::StreamId& stream : intake->streams_of(node, recent))
//           BELAY_CHECK(intake->read(stream, recent, [&](std::string_view piece) -> core::Result<> {
//               BELAY_TRY(upload, read_upload(piece));
//               follower.take(upload);                             // records/job_follower.h; what it had before does not count as news
//               return {};
//           }));
//
// Thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/time.h"
#include "server/blocks/block_index.h"
#include "server/blocks/log_walk.h"
#include "server/blocks/log_writer.h"
#include "server/blocks/received.h"
#include "server/blocks/upload.h"

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct Accepted {
    stream::StreamId stream;
    uint64_t next_block = 0;  // behind the highest that is stored
    uint64_t new_blocks = 0;
    uint64_t known_blocks = 0;   // that were stored before
    std::vector<BlockRun> gaps;  // before next_block: may still come
    // Of the new blocks: their numbers; earliest and latest time of their rows, nothing where they have none; and what they say
    // of jobs.
    std::vector<BlockRun> new_runs = {};
    std::optional<core::Time> first_time = {}, last_time = {};
    std::vector<StatedShare> shares = {};
};

// A part of a log's file that could not be read.
struct LostLog {
    std::string file;
    LogDamage damage;
};

class Intake {
  public:
    // Makes the directory, 0700, if it is not there, and reads what lies in it. Errors: kBadInput for a directory of
    // another user's, for one written by a newer version, and for a writer's name that another belayd has now; kSystem.
    static core::Result<std::unique_ptr<Intake>> open(const std::filesystem::path& directory,
                                                      std::string writer, const LogLimits& limits,
                                                      core::Clock& clock = core::system_clock());

    // Returns when all of it is on the disk. Errors: kBadInput for what read_upload() refuses, and, with kDenied, for a block
    // that was stored with other bytes: two writers use one stream's name, as copies of a node do; kSystem, kNoSpace where
    // the disk is full: the agent keeps it then.
    core::Result<Accepted> accept(std::string_view piece);
    // The same of what read_upload() has made of it. Errors: as above, but for those of read_upload().
    core::Result<Accepted> accept(const Upload& upload);
    // Takes in what other writers have stored since. Errors: kSystem.
    core::Result<> look();

    // What is stored of a stream; nothing of one that is not known.
    Received received(const stream::StreamId& stream) const;
    // Numbers of which no file here has the block, though it may have had rows of this time, as far as the blocks around it tell.
    std::vector<BlockRun> missing(const stream::StreamId& stream, const TimeRange& range) const;
    // Those of which something is or was stored, sorted.
    std::vector<std::string> nodes() const;
    std::vector<stream::StreamId> streams_of(std::string_view node, const TimeRange& range) const;
    // The rows of a stream within the range, and some around it, piece by piece, in the order of blocks, each
    // block once. Errors: kSystem, also for files that are damaged now; what `visit` returns.
    core::Result<> read(const stream::StreamId& stream, const TimeRange& range,
                        const std::function<core::Result<>(std::string_view piece)>& visit) const;
    // Entries of the index: pieces of uploads that can be read.
    size_t places() const;
    // What packs closed files (packed/) needs to know, and tells. Of a node's streams: where their blocks lie, by number.
    std::vector<std::pair<stream::StreamId, std::vector<BlockPlace>>> places_of(std::string_view node,
                                                                                const TimeRange& range) const;
    const core::Directory& directory() const { return directory_; }
    const std::string& writer() const { return log_->writer(); }
    std::string file_in_use() const;         // that is being appended to; empty before the first
    std::vector<std::string> files() const;  // that have blocks in the index, sorted
    // Blocks that are stored elsewhere, and come again as duplicates.
    void know(const stream::StreamId& stream, const std::vector<BlockRun>& runs);
    // The file was packed, or is gone: it is not read from now on.
    void forget(const std::string& file);
    // Of the files as they were found.
    std::vector<LostLog> lost() const;

  private:
    // What is known of a stream.
    struct Known {
        Received received;
        Received readable;    // of which a file here has, or had, the block or the session
        uint64_t ticket = 0;  // of its last blocks
        struct Sum {
            uint64_t number = 0;
            uint32_t checksum = 0;
        };
        std::deque<Sum> recent;  // the last blocks that were stored here
    };

    // A session of a file, as its record stated it.
    struct Session {
        stream::StreamId stream;
        uint64_t first_block = 0;
        uint64_t head_at = 0;
        uint32_t head_bytes = 0;
    };
    // A file of another writer, or one that was here at the start.
    struct Read {
        uint64_t to = 0;
        std::map<uint32_t, Session> sessions;  // by number: one of them may be damaged
    };

    Intake(core::Directory directory, std::unique_ptr<LogWriter> log)
        : directory_(std::move(directory)), log_(std::move(log)) {}
    core::Result<> lock_name();
    core::Result<> look_at_files(bool own_too);
    core::Result<> look_at(const std::string& name);
    core::Result<> take_record(const std::string& name, const LogRecord& record, Read& read);
    core::Result<> store(const Upload& upload, Known& known, Accepted& accepted);
    std::string streams_record() const;

    core::Directory directory_;
    core::Descriptor lock_file_;
    std::optional<core::FileLock> lock_;
    mutable std::mutex mutex_;
    std::unique_ptr<LogWriter> log_;
    std::map<stream::StreamId, Known> streams_;
    BlockIndex index_;
    std::map<std::string, Read> read_;  // by file
    std::string file_in_use_;
    std::vector<LostLog> lost_;
};

}  // namespace belay::server
