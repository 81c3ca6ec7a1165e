// What a query may use, and the end of one that uses more.
#pragma once

#include "core/time.h"
#include "core/units.h"
#include "record/archive/duckdb_api.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace belay::record {

struct QueryLimits {
    core::Duration time = core::Duration::max();  // of one query; max: none
    std::optional<core::ByteSize> memory =
        {};  // of tables held in memory and of queries; nothing: most of the machine's
};

// Interrupts what runs on a connection when the time is over, as long as this lives.
class Interrupter {
  public:
    Interrupter(const DuckdbApi* api, duckdb_connection connection, core::Duration time);
    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // none where the time has no end; it ends before what it uses
};

}  // namespace belay::record
