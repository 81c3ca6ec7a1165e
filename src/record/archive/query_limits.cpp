#include "record/archive/query_limits.h"

#include "core/deadline.h"

namespace belay::record {

// DuckDB forgets an interrupt that comes before a statement has begun: one query is several statements.
constexpr core::Duration kAgain = std::chrono::milliseconds(100);

Interrupter::Interrupter(const DuckdbApi* api, duckdb_connection connection, core::Duration time) {
    const core::Deadline deadline = core::Deadline::after(time);
    if (deadline.is_never()) return;
    thread_ = std::jthread([this, api, connection, deadline](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        const auto never = [] { return false; };
        wake_.wait_for(lock, stop, deadline.left(), never);
        while (!stop.stop_requested()) {
            api->interrupt(connection);
            wake_.wait_for(lock, stop, kAgain, never);
        }
    });
}

}  // namespace belay::record
