#include "server/state/schema.h"

namespace belay::server {

core::Result<database::Database> open_state(std::string_view place, const core::Deadline& deadline,
                                            const database::DatabaseOptions& options) {
    BELAY_TRY(opened, database::Database::open(place, options, deadline));
    BELAY_CHECK(database::migrate(opened, kStateMigrations, deadline));
    return opened;
}

}  // namespace belay::server
