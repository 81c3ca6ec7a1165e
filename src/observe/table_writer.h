// Collects rows per table and writes them to the segment at every flush, together with the count of samples
// that were due and taken since the last one.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stream/batch.h"
#include "stream/segment.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe {

class TableWriter {
  public:
    TableWriter(stream::SegmentWriter segment, std::string node, core::Duration interval)
        : segment_(std::move(segment)), node_(std::move(node)), interval_(interval) {}

    // The rows of a table that are not written yet; new ones are added to it.
    stream::Batch& rows(const schema::Table& table);

    // `due` samples of the periodic table should have been taken since the last call, `taken` (0 or 1) was.
    void count(const schema::Table& table, core::Time at, int64_t due, int64_t taken);

    // Writes what has been collected; `now` is monotonic. If there has been nothing for a while, the segment
    // is touched, because by its age other nodes know that its recorder is alive. Errors: kSystem; the rows
    // are then kept for the next try.
    core::Result<> flush(core::Duration now);
    core::Result<> finish(core::Time at);

  private:
    struct Count {
        core::Time start;  // of the span that is being counted
        core::Time end;
        int64_t due = 0;
        int64_t taken = 0;
    };

    core::Result<> write();

    stream::SegmentWriter segment_;
    std::string node_;
    core::Duration interval_;
    std::map<const schema::Table*, stream::Batch> batches_;
    std::map<const schema::Table*, Count> counts_;
    std::optional<core::Duration> changed_;  // when the segment last grew or was touched
};

}  // namespace belay::observe
