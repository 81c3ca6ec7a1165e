// Collects rows per table and writes them to the stream at every flush, together with the count of samples
// that were due and taken since the last one.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stream/batch.h"
#include "stream/writer.h"

#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe {

class TableWriter {
  public:
    template <std::derived_from<stream::Writer> Writer>
    TableWriter(Writer stream, std::string node, core::Duration interval)
        : stream_(std::make_unique<Writer>(std::move(stream))), node_(std::move(node)), interval_(interval) {}

    // The rows of a table that are not written yet; new ones are added to it.
    stream::Batch& rows(const schema::Table& table);

    // `due` samples of the periodic table should have been taken since the last call, of which the last one
    // was taken, or not. A row counts samples that were all taken, or all missed: so whoever cuts a span out
    // knows which of its samples are missing.
    void count(const schema::Table& table, core::Time at, int64_t due, bool taken);

    // Writes what has been collected; `now` is monotonic. If there has been nothing for a while, the stream's
    // file is touched, because by its age other nodes know that its writer is alive. Errors: kSystem; the
    // rows are then kept for the next try.
    core::Result<> flush(core::Duration now);
    core::Result<> finish(core::Time at);

    // What is kept for the next try is bounded: of a table with more rows they go, and their samples count as
    // missed. Answers with how many went.
    size_t drop_excess(size_t most_rows = kMostKeptRows);
    static constexpr size_t kMostKeptRows = 32'768;  // hours of a node; less than a block takes

  private:
    // Samples that were all taken, or all missed.
    struct Run {
        core::Time start;
        core::Time end;
        int64_t due = 0;
        bool taken = false;
    };

    core::Result<> write();
    static void add_run(std::vector<Run>& runs, const Run& run);
    stream::Batch coverage() const;

    std::unique_ptr<stream::Writer> stream_;
    std::string node_;
    core::Duration interval_;
    std::map<const schema::Table*, stream::Batch> batches_;
    std::map<const schema::Table*, std::vector<Run>> runs_;  // not written yet
    std::map<const schema::Table*, core::Time> counted_to_;
    std::optional<core::Duration> changed_;  // when the stream last grew or was touched
};

}  // namespace belay::observe
