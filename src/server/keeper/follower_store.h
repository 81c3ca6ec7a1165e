// Followed jobs in the database, so that the belayd that follows them next goes on where this one was.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "server/records/job_follower.h"

#include <map>
#include <string>

namespace belay::server {

class FollowerStore {
  public:
    explicit FollowerStore(database::Database& database) : database_(&database) {}

    // What was kept, and until when what agents sent is in it; nodes are not kept: what they send next tells the same. Errors: those of
    // Database::transact; kBadInput for what is damaged.
    struct Kept {
        FollowerState state;
        std::optional<core::Time> until;
    };
    core::Result<Kept> load(const core::Deadline& deadline);
    // Writes the jobs that changed since the last load() or save(), and removes those that are gone. Errors: those of
    // Database::transact; the same is written again with the next.
    core::Result<> save(const FollowerState& state, core::Time until, const core::Deadline& deadline);

  private:
    database::Database* database_;
    std::map<std::string, FollowedJob> written_;  // by key
};

}  // namespace belay::server
