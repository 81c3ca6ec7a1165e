#include "database/transaction.h"

#include <utility>

namespace belay::database {

using core::Result;

Result<const Row*> Rows::next() {
    if (transaction_->failure_) return std::unexpected(*transaction_->failure_);
    auto found = cursor_->next(row_);
    if (!found) return std::unexpected(transaction_->fail(std::move(found.error())));
    return *found ? &row_ : nullptr;
}

bool Transaction::has_open_rows() const {
    auto open = open_.lock();
    return open && !open->is_at_end();
}

core::Error Transaction::fail(core::Error error) {
    if (!failure_) failure_ = error;
    return error;
}

Result<std::shared_ptr<Cursor>> Transaction::run(std::string_view sql, const Values& values) {
    if (failure_) return std::unexpected(*failure_);
    if (has_open_rows())
        return std::unexpected(fail(
            core::system_error("a statement was to run while the rows of another were not read to the end")
                .error()));
    auto cursor = connection_->run(sql, values, deadline_);
    if (!cursor) return std::unexpected(fail(std::move(cursor.error())));
    std::shared_ptr<Cursor> shared = std::move(*cursor);
    open_ = shared;
    return shared;
}

Result<int64_t> Transaction::execute(std::string_view sql, const Values& values) {
    BELAY_TRY(cursor, run(sql, values));
    Rows rows(*this, cursor);
    while (!cursor->is_at_end()) BELAY_CHECK(rows.next());
    return cursor->changed();
}

Result<Rows> Transaction::query(std::string_view sql, const Values& values) {
    BELAY_TRY(cursor, run(sql, values));
    return Rows(*this, std::move(cursor));
}

Result<std::optional<Row>> Transaction::query_row(std::string_view sql, const Values& values) {
    BELAY_TRY(rows, query(sql, values));
    BELAY_TRY(row, rows.next());
    if (row == nullptr) return std::optional<Row>();
    Row first = *row;
    // A statement that changes rows has done so when all of its answer has come.
    while (!rows.cursor_->is_at_end()) BELAY_CHECK(rows.next());
    return std::optional(std::move(first));
}

Result<std::vector<Row>> Transaction::query_all(std::string_view sql, const Values& values) {
    BELAY_TRY(rows, query(sql, values));
    std::vector<Row> all;
    for (;;) {
        BELAY_TRY(row, rows.next());
        if (row == nullptr) return all;
        if (all.size() == kMostRows)
            return std::unexpected(fail(
                core::bad_input("a query answers more than {} rows", kMostRows).hint("write LIMIT").error()));
        all.push_back(*row);
    }
}

}  // namespace belay::database
