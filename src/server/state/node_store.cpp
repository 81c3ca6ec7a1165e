#include "server/state/node_store.h"

#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;

namespace {

constexpr std::string_view kNodeColumns = "cluster, name, token_id, first_seen, last_upload";

NodeRow node_of(const database::Row& row) {
    return {.cluster = text_at(row, 0),
            .name = text_at(row, 1),
            .token_id = text_at(row, 2),
            .first_seen = time_at(row, 3),
            .last_upload = optional_time_at(row, 4)};
}

Result<> check_node(std::string_view cluster, std::string_view name) {
    if (!cluster.empty()) BELAY_CHECK(check_plain_name(cluster, "name of the cluster"));
    return check_plain_name(name, "name of the node");
}

Result<std::optional<std::string>> setting_in(Transaction& transaction, std::string_view name) {
    BELAY_TRY(row,
              transaction.query_row("SELECT setting_value FROM setting WHERE name = ?", {std::string(name)}));
    return row ? row->text(0) : std::nullopt;
}

}  // namespace

Result<> put_node(Database& database, const NodeRow& node, core::Time now, const Deadline& deadline) {
    BELAY_CHECK(check_node(node.cluster, node.name));
    BELAY_CHECK(database.execute(deadline,
                                 "INSERT INTO node (cluster, name, token_id, first_seen) VALUES (?, ?, ?, ?)"
                                 " ON CONFLICT (cluster, name) DO UPDATE SET token_id = excluded.token_id",
                                 {node.cluster, node.name, text_value(node.token_id), time_value(now)}));
    return {};
}

Result<> note_upload(Database& database, std::string_view cluster, std::string_view name, core::Time time,
                     const Deadline& deadline) {
    BELAY_CHECK(check_node(cluster, name));
    BELAY_CHECK(
        database.execute(deadline,
                         "INSERT INTO node (cluster, name, first_seen, last_upload) VALUES (?, ?, ?, ?)"
                         " ON CONFLICT (cluster, name) DO UPDATE SET last_upload = excluded.last_upload"
                         " WHERE node.last_upload IS NULL OR node.last_upload < excluded.last_upload",
                         {std::string(cluster), std::string(name), time_value(time), time_value(time)}));
    return {};
}

Result<std::optional<NodeRow>> find_node(Database& database, std::string_view cluster, std::string_view name,
                                         const Deadline& deadline) {
    BELAY_TRY(rows,
              database.query(deadline,
                             fmt::format("SELECT {} FROM node WHERE cluster = ? AND name = ?", kNodeColumns),
                             {std::string(cluster), std::string(name)}));
    if (rows.empty()) return std::optional<NodeRow>();
    return std::optional(node_of(rows.front()));
}

Result<std::vector<NodeRow>> list_nodes(Database& database, const Deadline& deadline) {
    return in_read(database, deadline, [](Transaction& transaction) -> Result<std::vector<NodeRow>> {
        BELAY_TRY(rows,
                  transaction.query(fmt::format("SELECT {} FROM node ORDER BY cluster, name", kNodeColumns)));
        std::vector<NodeRow> nodes;
        for (;;) {
            BELAY_TRY(row, rows.next());
            if (row == nullptr) return nodes;
            nodes.push_back(node_of(*row));
        }
    });
}

Result<std::optional<std::string>> find_setting(Database& database, std::string_view name,
                                                const Deadline& deadline) {
    return in_read(database, deadline,
                   [&](Transaction& transaction) { return setting_in(transaction, name); });
}

Result<> put_setting(Transaction& transaction, std::string_view name, std::string_view value) {
    BELAY_CHECK(
        transaction.execute("INSERT INTO setting (name, setting_value) VALUES (?, ?)"
                            " ON CONFLICT (name) DO UPDATE SET setting_value = excluded.setting_value",
                            {std::string(name), std::string(value)}));
    return {};
}

Result<> put_setting(Database& database, std::string_view name, std::string_view value,
                     const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return put_setting(transaction, name, value); });
}

Result<std::string> setting_or_make(Database& database, std::string_view name,
                                    const std::function<Result<std::string>()>& make,
                                    const Deadline& deadline) {
    return in_write(database, deadline, [&](Transaction& transaction) -> Result<std::string> {
        BELAY_TRY(found, setting_in(transaction, name));
        if (found) return *found;
        BELAY_TRY(made, make());
        BELAY_CHECK(transaction.execute(
            "INSERT INTO setting (name, setting_value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
            {std::string(name), made}));
        return made;
    });
}

}  // namespace belay::server
