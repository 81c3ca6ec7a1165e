// A spool: a directory with the segments of the streams that were written there. A stream goes through
// several files, one after the other; the oldest go when there is no room.
//
//   auto writer = SpoolWriter::open("/var/spool/belay", session, {});      // begins a stream
//   writer.append(rows);                                                   // into a file or the next one
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "stream/segment.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stream {

// Names of the files in a spool, the oldest first by the name: "18ab…-0000000000-n1-agent.seg". What they are
// says their session.
std::string spool_file_name(const StreamId& stream, uint64_t first_block);
bool is_spool_file_name(std::string_view name);

struct SpoolLimits {
    uint64_t file_bytes = uint64_t{16} << 20;             // then the next file is begun
    core::Duration file_time = std::chrono::minutes(10);  // likewise
    uint64_t spool_bytes = uint64_t{1} << 30;             // of all files together
};

// What had to go: closed files, the oldest first.
struct Trimmed {
    uint64_t files = 0;
    uint64_t bytes = 0;
};
using TrimSink = std::function<void(const Trimmed&)>;

// Writes one stream. After an error the files hold only whole blocks, and the writer stays usable. Not
// thread-safe.
class SpoolWriter final : public Writer {
  public:
    // Makes the directory, 0700, if it is not there. `session` says of which stream; its first_block counts.
    // `on_trimmed` is told from within open() and append(); may be empty. Errors: kBadInput for limits that
    // leave no room, and for a directory that belongs to another user, or that another user could exchange;
    // kSystem.
    static core::Result<SpoolWriter> open(const std::filesystem::path& spool, Session session,
                                          const SpoolLimits& limits, TrimSink on_trimmed = nullptr,
                                          core::Clock& clock = core::system_clock());
    core::Result<> append(const Batch& batch) override;
    core::Result<> finish(core::Time at) override {
        return is_finished_ ? core::Result<>() : file_.finish(at);
    }
    void touch() const override { file_.touch(); }
    uint64_t bytes() const override { return bytes_before_ + file_.bytes(); }

  private:
    SpoolWriter(core::Directory directory, Session session, const SpoolLimits& limits, TrimSink on_trimmed,
                core::Clock& clock, SegmentWriter file, std::string name)
        : directory_(std::move(directory)),
          session_(std::move(session)),
          limits_(limits),
          on_trimmed_(std::move(on_trimmed)),
          clock_(&clock),
          file_(std::move(file)),
          name_(std::move(name)),
          opened_(clock.monotonic()) {}
    bool is_full() const;
    core::Result<> rotate();
    core::Result<> trim();

    core::Directory directory_;
    Session session_;
    SpoolLimits limits_;
    TrimSink on_trimmed_;
    core::Clock* clock_;
    SegmentWriter file_;
    std::string name_;
    bool is_finished_ = false;  // the next one could not be begun
    core::Duration opened_;     // monotonic
    uint64_t bytes_before_ = 0;
};

}  // namespace belay::stream
