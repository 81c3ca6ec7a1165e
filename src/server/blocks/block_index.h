// Where in the files of block logs the blocks of each stream lie. Pure; not thread-safe.
#pragma once

#include "core/time.h"
#include "server/blocks/received.h"
#include "stream/stream_id.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Half open: from `begin` up to, and without, `end`.
struct TimeRange {
    core::Time begin = core::Time::min();
    core::Time end = core::Time::max();
};

// Blocks that lie one behind the other, and the session by which they are read.
struct BlockPlace {
    std::shared_ptr<const std::string> file;  // its name; places of one file share it
    uint64_t head_at = 0;
    uint32_t head_bytes = 0;
    uint32_t bytes = 0;
    uint64_t at = 0;
    uint64_t first_block = 0;  // of the session
    BlockRun blocks;
    core::Time first_time, last_time;  // of their rows; the latter before the former where they have none

    bool has_rows() const { return first_time <= last_time; }
};

class BlockIndex {
  public:
    void add(const stream::StreamId& stream, std::string_view file, BlockPlace place);
    // The file is gone, or packed; streams without another place go with it.
    void forget(std::string_view file);
    // Those that places are in, sorted.
    std::vector<std::string> files() const;

    // Of rows within the range, by the numbers of their blocks; places of blocks without rows are left out.
    std::vector<BlockPlace> places(const stream::StreamId& stream, const TimeRange& range) const;
    // All streams of a node that have rows within the range, by the time at which they began.
    std::vector<stream::StreamId> streams_of(std::string_view node, const TimeRange& range) const;
    size_t size() const { return size_; }

  private:
    struct Stream {
        std::vector<BlockPlace> places;  // as they came
        core::Time first_time = core::Time::max(), last_time = core::Time::min();
    };
    void forget_stream(const stream::StreamId& stream);

    std::map<std::string, std::shared_ptr<const std::string>, std::less<>> files_;
    std::map<stream::StreamId, Stream> streams_;
    std::map<std::string, std::vector<stream::StreamId>, std::less<>> nodes_;
    size_t size_ = 0;
};

}  // namespace belay::server
