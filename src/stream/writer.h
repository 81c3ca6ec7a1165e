// Where the rows of one stream are written to: one file (SegmentWriter), or a spool of them (SpoolWriter).
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stream/batch.h"

#include <cstdint>

namespace belay::stream {

class Writer {
  public:
    virtual ~Writer() = default;
    // Writes the rows as one block, or as several where one would not hold them; nothing for an empty batch.
    // Errors: kSystem (a full disk).
    virtual core::Result<> append(const Batch& batch) = 0;
    // Marks what was written as complete and syncs it to disk.
    virtual core::Result<> finish(core::Time at) = 0;
    // Makes the file as young as if it had just been written to.
    virtual void touch() const = 0;
    // That were written so far.
    virtual uint64_t bytes() const = 0;

  protected:
    Writer() = default;
    Writer(Writer&&) = default;
    Writer& operator=(Writer&&) = default;
};

}  // namespace belay::stream
