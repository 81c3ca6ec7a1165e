// Reads the streams of a spool piece by piece, each from where a cursor stands, also while they are written.
//
//   BELAY_TRY(spool, SpoolReader::open("/var/spool/belay"));
//   BELAY_TRY(cursors, spool.streams());
//   for (Cursor& cursor : cursors) {
//       BELAY_TRY(piece, spool.read(cursor));        // again and again; without bytes there is nothing new
//       cursor = piece.next;
//   }
//
// What lies in a spool is not trusted: no link is followed, nothing but a regular file is opened, and what a
// file says of itself is bounded. Blocks are handed on packed, each with checksums that are right; who
// unpacks a piece does it with an UnpackBudget (SegmentReader::of_bytes). Not thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stream/cursor.h"
#include "stream/segment.h"
#include "stream/segment_bytes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::stream {

// A part of a stream: blocks of one file, with the session by which they are read, as a segment of its own.
struct Piece {
    std::string bytes;  // empty: nothing new
    Cursor next;        // behind the last block
    // Blocks that no file has any more: rotation threw them away before they were read.
    uint64_t gone_first = 0;
    uint64_t gone_blocks = 0;
    std::vector<Lost> lost;  // damage that was passed over, told once
    // Without bytes: what stands at the end of the last file and is not a whole block, while nobody on this
    // machine writes to it. A block may still be made of it, by a writer on another node.
    std::vector<Lost> tail;
};

class SpoolReader {
  public:
    // Errors: kSystem.
    static core::Result<SpoolReader> open(const std::filesystem::path& spool);

    // All streams, by the time at which they began, each from its first block that is still there. Errors:
    // kSystem.
    core::Result<std::vector<Cursor>> streams();
    // What follows in the stream, at most `limit` bytes unless one block is larger. A tail that is half
    // written is not there yet. Errors: kSystem.
    core::Result<Piece> read(const Cursor& from, size_t limit = size_t{4} << 20);
    // Files that were left out when they were last looked at, and why.
    const std::vector<Lost>& left_out() const { return left_out_; }

  private:
    // What the beginning of a file says.
    struct Head {
        StreamId stream;
        uint64_t first_block = 0;
        uint64_t bytes = 0;  // of header and session
    };
    struct File {
        std::string name;
        Head head;
    };
    // A file that is none of a stream, or not yet.
    struct Unread {
        uint64_t bytes = 0;       // when it was looked at: it is not looked at again before that changes
        std::string reason = {};  // empty: its session is not written yet
    };
    // Where a whole block was found the last time: where the next one begins there may be damage.
    struct Place {
        std::string file;
        uint64_t number = 0;
        uint64_t offset = 0;
    };
    class Walk;

    explicit SpoolReader(core::Directory directory) : directory_(std::move(directory)) {}
    core::Result<> look();
    core::Result<> look_at(const std::string& name);
    core::Result<bool> is_as_before(const std::string& name);
    core::Result<std::optional<SegmentBytes>> open_file(const std::string& name, core::Descriptor& file);
    std::vector<File> files_of(const StreamId& stream) const;
    core::Result<Piece> read_known(const Cursor& from, size_t limit);
    core::Result<bool> read_file(const File& file, bool is_last, size_t limit, Piece& piece);

    core::Directory directory_;
    std::map<std::string, Head> heads_;     // by file name
    std::map<std::string, Unread> unread_;  // likewise
    std::vector<Lost> left_out_;
    std::map<StreamId, Place> places_;
};

}  // namespace belay::stream
