// Follows one stream of a spool while it is written: its rows, each once, as they reach the files.
//
//   BELAY_TRY(tail, StreamTail::open(spool, {stream, 0}));
//   BELAY_TRY(is_at_end, tail.step([&](const stream::Batch& rows) { … }));     // again and again
//
// Not thread-safe.
#pragma once

#include "core/error.h"
#include "stream/cursor.h"
#include "stream/segment.h"
#include "stream/spool_reader.h"

#include <cstddef>
#include <filesystem>
#include <utility>

namespace belay::agent {

class StreamTail {
  public:
    // Errors: kSystem.
    static core::Result<StreamTail> open(const std::filesystem::path& spool, stream::Cursor from,
                                         size_t piece_bytes = size_t{1} << 20);
    // Hands on what is new, batch by batch, at most sixteen pieces of it. False where there is more to be read now.
    // Errors: kSystem.
    core::Result<bool> step(const stream::BatchVisitor& visit);
    // Behind the last block that was handed on.
    const stream::Cursor& place() const { return place_; }

  private:
    StreamTail(stream::SpoolReader reader, stream::Cursor from, size_t piece_bytes)
        : reader_(std::move(reader)), place_(std::move(from)), piece_bytes_(piece_bytes) {}

    stream::SpoolReader reader_;
    stream::Cursor place_;
    size_t piece_bytes_;
};

}  // namespace belay::agent
