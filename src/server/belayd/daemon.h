// belayd: all of its parts, begun in order and ended in order.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"
#include "server/belayd/options.h"

#include <functional>
#include <string>

namespace belay::server {

// The state, where the options say; the data directory is made if it is not there. Errors: kBadInput, kSystem.
core::Result<database::Database> open_data_state(const DaemonOptions& options,
                                                 const core::Deadline& deadline);

// Serves until SIGTERM, SIGINT or SIGHUP comes; `ready` is called with its URL when it answers. Errors: kBadInput for
// options that cannot be; kSystem.
core::Result<> run_daemon(const DaemonOptions& options,
                          const std::function<void(const std::string& url)>& ready);

}  // namespace belay::server
