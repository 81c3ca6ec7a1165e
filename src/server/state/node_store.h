// Nodes that upload, and settings that belayd makes for itself once.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/time.h"
#include "database/database.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct NodeRow {
    std::string cluster, name;
    std::string token_id = {};  // with which it uploads
    core::Time first_seen = {};
    std::optional<core::Time> last_upload = {};
};

// Adds the node, or says with which token it uploads now. `first_seen` of one that is new is `now`. Errors: kBadInput for
// names; those of Database::transact.
core::Result<> put_node(database::Database& database, const NodeRow& node, core::Time now,
                        const core::Deadline& deadline);
// Adds the node where it is not known yet. Not for every upload: once a minute will do. A time before the last one is passed
// over.
core::Result<> note_upload(database::Database& database, std::string_view cluster, std::string_view name,
                           core::Time time, const core::Deadline& deadline);
core::Result<std::optional<NodeRow>> find_node(database::Database& database, std::string_view cluster,
                                               std::string_view name, const core::Deadline& deadline);
// In the order of cluster and name.
core::Result<std::vector<NodeRow>> list_nodes(database::Database& database, const core::Deadline& deadline);

core::Result<std::optional<std::string>> find_setting(database::Database& database, std::string_view name,
                                                      const core::Deadline& deadline);
core::Result<> put_setting(database::Transaction& transaction, std::string_view name, std::string_view value);
core::Result<> put_setting(database::Database& database, std::string_view name, std::string_view value,
                           const core::Deadline& deadline);
// What is there, or else what `make` gives, which is stored then: all that ask get the same, also where several belayd begin
// at once. Errors: also those of `make`.
core::Result<std::string> setting_or_make(database::Database& database, std::string_view name,
                                          const std::function<core::Result<std::string>()>& make,
                                          const core::Deadline& deadline);

}  // namespace belay::server
