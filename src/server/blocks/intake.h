// What belayd does with the blocks that agents upload: each is stored once, and acknowledged when it is on the disk.
//
//   BELAY_TRY(intake, Intake::open("/var/lib/belay/blocks", "a1", {}));
//   BELAY_TRY(accepted, intake->accept(piece));             // the agent goes on at accepted.next_block
//
// Several belayd write into one directory, each into files of its own; an agent may go from one to another. Each block
// has an identity, its stream and number, so what was uploaded twice is stored once, or, where two belayd took it, read once.
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
    // Takes in what other writers have stored since. Errors: kSystem.
    core::Result<> look();

    // What is stored of a stream; nothing of one that is not known.
    Received received(const stream::StreamId& stream) const;
    std::vector<stream::StreamId> streams_of(std::string_view node, const TimeRange& range) const;
    // The rows of a stream within the range, and some around it, piece by piece, in the order of blocks, each
    // block once. Errors: kSystem, also for files that are damaged now; what `visit` returns.
    core::Result<> read(const stream::StreamId& stream, const TimeRange& range,
                        const std::function<core::Result<>(std::string_view piece)>& visit) const;
    // Entries of the index: pieces of uploads that can be read.
    size_t places() const;
    // Of the files as they were found.
    std::vector<LostLog> lost() const;

  private:
    // What is known of a stream.
    struct Known {
        Received received;
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
        std::vector<Session> sessions;
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
    std::vector<LostLog> lost_;
};

}  // namespace belay::server
