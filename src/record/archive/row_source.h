// Rows that SQL reads where they are: a table function of DuckDB over a cursor of ours.
#pragma once

#include "core/error.h"
#include "record/archive/duckdb_api.h"
#include "schema/schema.h"
#include "stream/batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace belay::record {

// Some rows of a batch; they hold until the cursor's next call. None: the end.
struct RowRun {
    const stream::Batch* batch = nullptr;
    size_t first = 0;
    size_t count = 0;
};

// Gives at most so many of the rows that come next.
using RowCursor = std::function<core::Result<RowRun>(size_t most)>;

struct RowSource {
    const schema::Table* table = nullptr;
    uint64_t rows = 0;                 // how many come, as far as that is known
    std::function<RowCursor()> begin;  // may be called from any thread; each cursor is used by one
};

// The batch must outlive what reads it.
RowSource rows_in(const stream::Batch& batch);

// The same rows, of which each cursor reads some ahead in a thread of its own.
RowSource read_ahead(RowSource source);

// What went wrong in reading rows, kept whole beside the text that DuckDB passes on. Thread-safe.
class RowFailure {
  public:
    void keep(core::Error error);
    // The first one since the last call.
    std::optional<core::Error> take();

  private:
    std::mutex mutex_;
    std::optional<core::Error> error_;
};

// `SELECT ... FROM name()` reads the source from its beginning, in its order, columns that are not asked for
// left out. `failure` is told what went wrong. Errors: kSystem.
core::Result<> register_rows(const DuckdbApi* api, duckdb_connection connection, const std::string& name,
                             RowSource source, std::shared_ptr<RowFailure> failure);

}  // namespace belay::record
