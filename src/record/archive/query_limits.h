// What a query may use, and the end of one that uses more.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "core/units.h"
#include "record/archive/duckdb_api.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <sys/resource.h>
#include <thread>

namespace belay::record {

// How many values of a record that is not sealed are loaded, so that each query after that is quick; of a
// larger one, some tables are read in place whenever they are asked for.
inline constexpr uint64_t kLoadedValues = 8'000'000;

struct QueryLimits {
    core::Duration time = core::Duration::max();  // of one query; max: none
    std::optional<core::ByteSize> memory =
        {};  // of tables held in memory and of queries; nothing: most of the machine's
    uint64_t loaded_values = kLoadedValues;
};

// Whose SQL it is, and so whose fault a failure.
enum class Statement {
    kQuery,     // a person's, within the limits of queries: what is wrong with it is kBadInput
    kOwnQuery,  // ours, within the same limits, which are no fault of the person; over files as kScan
    kScan,      // ours, over a file that may be damaged, which is kBadInput
    kOwn,       // ours: whatever fails is kSystem
};

// Why a query ended, of a person or of our own. Because of kTimedOut and ENOMEM.
core::Error too_slow(Statement statement, const QueryLimits& limits);
core::Error too_large(Statement statement, const QueryLimits& limits);

// Interrupts what runs on a connection when the time is over, as long as this lives. DuckDB looks for it
// between the functions of a query: one that is deep in a single call (a regular expression, an edit distance
// of two long texts) sees nothing. After another kGrace the whole process therefore ends, with the message
// and the exit status of too_slow().
class Interrupter {
  public:
    static constexpr core::Duration kGrace = std::chrono::seconds(10);

    Interrupter(const DuckdbApi* api, duckdb_connection connection, Statement statement,
                const QueryLimits& limits);
    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // none where the time has no end; it ends before what it uses
};

// As long as this lives, the process can take no more memory of its own than it has, the limit, and room for
// the work of the threads: DuckDB does not count the texts that a function makes. Where it is reached,
// allocations fail.
class MemoryLimit {
  public:
    explicit MemoryLimit(std::optional<core::ByteSize> memory);
    ~MemoryLimit();
    MemoryLimit(const MemoryLimit&) = delete;
    MemoryLimit& operator=(const MemoryLimit&) = delete;

  private:
    std::optional<rlimit> before_;
};

}  // namespace belay::record
