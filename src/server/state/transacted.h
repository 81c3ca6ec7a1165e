// A function of a transaction and its answer: what every call of this folder that takes a Database stands on.
//
//   return in_write(database, deadline, [&](Transaction& transaction) { return put_job(transaction, job, now); });
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "database/database.h"

#include <optional>
#include <type_traits>
#include <utility>

namespace belay::server {

// Errors: the function's and those of Database::transact. The function may run several times.
template <typename Function>
auto transacted(database::Database& database, database::Access access, const core::Deadline& deadline,
                const Function& function) -> std::invoke_result_t<const Function&, database::Transaction&> {
    using Answer = std::invoke_result_t<const Function&, database::Transaction&>;
    using Value = typename Answer::value_type;
    if constexpr (std::is_void_v<Value>) {
        return database.transact(access, deadline, function);
    } else {
        std::optional<Value> value;
        auto done =
            database.transact(access, deadline, [&](database::Transaction& transaction) -> core::Result<> {
                value.reset();
                BELAY_TRY(given, function(transaction));
                value.emplace(std::move(given));
                return {};
            });
        if (!done) return Answer(std::unexpected(std::move(done.error())));
        return Answer(std::move(*value));
    }
}

template <typename Function>
auto in_write(database::Database& database, const core::Deadline& deadline, const Function& function) {
    return transacted(database, database::Access::kWrite, deadline, function);
}
template <typename Function>
auto in_read(database::Database& database, const core::Deadline& deadline, const Function& function) {
    return transacted(database, database::Access::kRead, deadline, function);
}

}  // namespace belay::server
