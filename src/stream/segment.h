// Segments: what a recorder writes while the job runs. One append-only file per recorder; a block holds rows
// of one table and carries its own checksums, so a file that was cut off, damaged or has something foreign at
// its end still gives every whole block. docs/formats/segment.md describes the bytes.
#pragma once

#include "core/directory.h"
#include "core/time.h"
#include "stream/batch.h"
#include "stream/stream_id.h"
#include "stream/writer.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stream {

// Who wrote the segment and how; its first block.
struct Session {
    std::string node;
    std::optional<int64_t> task;  // rank of the Slurm task whose output was read
    bool periodic = true;         // whether it sampled the node (one recorder per node does)
    core::Time start;             // of this file
    core::Duration interval{};    // between samples
    core::Duration flush{};       // between writes
    std::string version;          // of Belay
    // The stream of which the file is a part; empty in segments that are older than streams.
    std::string cluster = {};
    std::string boot = {};
    std::string source = {};
    core::Time began = {};
    // The number of this block in the stream. Of every other one it is this and its sequence in the file.
    uint64_t first_block = 0;

    StreamId stream() const { return {cluster, node, boot, source, began}; }
};

// A part of a segment that could not be read, or, with offset and bytes 0, something that never reached it.
struct Lost {
    std::string file;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    std::string reason;

    bool has_place() const { return offset > 0 || bytes > 0; }
};

struct SegmentSummary {
    std::string file;
    std::optional<Session> session;   // nothing if its block was lost
    std::optional<core::Time> ended;  // nothing if the recorder did not close the segment
    std::optional<core::Time> last;   // latest time of any row that Belay itself timed
    uint64_t rows = 0;
    uint64_t bytes = 0;     // of the file as it was read
    uint64_t read_to = 0;   // where reading ended: before `bytes` where it unpacks to too much
    bool newer = false;     // a later version of the format, of which nothing was read
    bool left_out = false;  // it has columns, tables or kinds of blocks that this version does not know
    std::vector<Lost> lost;

    // Whether all that the file holds was read.
    bool whole() const { return lost.empty() && !left_out; }
};

// Appends to one new file. After an error the file holds only whole blocks, and the writer stays usable: the
// next append starts where the last whole block ended. Not thread-safe. Holds a lock on the file, by which
// stream/liveness.h sees it.
class SegmentWriter final : public Writer {
  public:
    // Writes the session block into a new, empty file; messages name `path`. Errors: kSystem.
    static core::Result<SegmentWriter> begin(core::Descriptor file, const std::filesystem::path& path,
                                             const Session& session);
    // The same in a file that it creates, which must not exist. Errors: kBadInput for a link in its way;
    // kSystem.
    static core::Result<SegmentWriter> create(const std::filesystem::path& path, const Session& session);
    core::Result<> append(const Batch& batch) override;
    core::Result<> finish(core::Time at) override;
    void touch() const override;
    uint64_t bytes() const override { return size_; }
    // The number in the stream that its next block will have.
    uint64_t next_block() const { return first_block_ + sequence_; }

  private:
    SegmentWriter(core::Descriptor fd, std::filesystem::path path, uint64_t first_block)
        : fd_(std::move(fd)), path_(std::move(path)), first_block_(first_block) {}
    core::Result<> write_block(std::string_view block);

    core::Descriptor fd_;
    std::filesystem::path path_;
    uint64_t first_block_;
    uint64_t size_ = 0;      // end of the last whole block
    uint32_t sequence_ = 0;  // of the next block
};

// What segments may take when they are unpacked (payloads, 8 bytes for each value, texts): a floor for all of
// a record together, and so many times what their blocks of rows take in the file. A file's length says
// nothing: of one with holes nothing need be on the disk. Thread-safe.
class UnpackBudget {
  public:
    UnpackBudget();
    void add_rows(uint64_t stored_bytes);
    // False when it is used up.
    bool spend(uint64_t bytes);
    bool is_empty() const { return left_ == 0; }

  private:
    std::atomic<uint64_t> left_;
};

// Reads a segment batch by batch. A batch has the columns of this version's schema: columns that the writer
// did not know are null, tables and columns that only it knew are left out (`left_out`). Holds one block at a
// time and a batch for each table. Not thread-safe.
class SegmentReader {
  public:
    // Of a file as long as it is now. `budget`, that of the record, must outlive the reader. Errors: kSystem.
    static core::Result<SegmentReader> open(int fd, const std::filesystem::path& path, UnpackBudget& budget);
    // Once more the rows of one table, of a segment that was read before; the rest is passed over unread.
    // Errors: kSystem.
    static core::Result<SegmentReader> open_again(int fd, const std::filesystem::path& path,
                                                  const SegmentSummary& before, const schema::Table& table);
    // From memory; `name` is used in `lost`. Any bytes are safe to pass.
    static SegmentReader of_bytes(std::string_view bytes, std::string_view name, UnpackBudget& budget);
    SegmentReader(SegmentReader&&) noexcept;
    SegmentReader& operator=(SegmentReader&&) noexcept;
    SegmentReader(const SegmentReader&) = delete;
    SegmentReader& operator=(const SegmentReader&) = delete;
    ~SegmentReader();

    // The next batch with rows, which holds until the next call; nullptr at the end. Errors: kSystem if the
    // file cannot be read; damage is not an error but listed in the summary.
    core::Result<const Batch*> next();
    // Of what was read so far.
    const SegmentSummary& summary() const;

  private:
    class Walker;
    explicit SegmentReader(std::unique_ptr<Walker> walker);
    std::unique_ptr<Walker> walker_;
};

using BatchVisitor = std::function<void(const Batch&)>;

// Hands every batch of a segment to `visit`, in file order. Errors: kSystem if the file cannot be read at
// all.
core::Result<SegmentSummary> read_segment(const std::filesystem::path& path, const BatchVisitor& visit);

// The same from memory. Errors: kSystem, for want of memory.
core::Result<SegmentSummary> read_segment_bytes(std::string_view bytes, std::string_view name,
                                                const BatchVisitor& visit);

}  // namespace belay::stream
