#include "server/state/clean_up.h"

#include "server/state/rows.h"

#include <string_view>

namespace belay::server {

using core::Result;

namespace {

struct Broom {
    int64_t CleanedUp::* count;
    std::string_view sql;  // "?" is the time before which it ended
    size_t marks;
    core::Duration kept;
};

}  // namespace

Result<CleanedUp> clean_up(database::Database& database, core::Time now, const StateRetention& retention,
                           const core::Deadline& deadline) {
    const Broom brooms[] = {
        {&CleanedUp::sessions, "DELETE FROM session WHERE expires <= ?", 1, {}},
        {&CleanedUp::login_attempts, "DELETE FROM login_attempt WHERE expires <= ?", 1, {}},
        {&CleanedUp::links, "DELETE FROM link WHERE expires <= ?", 1, {}},
        {&CleanedUp::tokens, "DELETE FROM token WHERE revoked <= ? OR expires <= ?", 2, retention.tokens},
        {&CleanedUp::audit_entries, "DELETE FROM audit WHERE at_time <= ?", 1, retention.audit},
    };
    CleanedUp cleaned;
    for (const Broom& broom : brooms) {
        const database::Values values(broom.marks, time_value(now - broom.kept));
        BELAY_TRY(count, database.execute(deadline, broom.sql, values));
        cleaned.*broom.count = count;
    }
    return cleaned;
}

}  // namespace belay::server
