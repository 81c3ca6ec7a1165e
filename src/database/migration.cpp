#include "database/migration.h"

#include "core/utf8.h"
#include "database/sql.h"

#include <string>
#include <vector>

namespace belay::database {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kStepsTable =
    "CREATE TABLE IF NOT EXISTS belay_migration"
    " (number {int64} PRIMARY KEY, name {text} NOT NULL, applied_at {int64} NOT NULL) {strict}";

Result<> check_numbers(std::span<const Migration> steps) {
    for (size_t i = 0; i < steps.size(); ++i)
        if (steps[i].number != static_cast<int64_t>(i) + 1)
            return bad_input("migration {} ({}) comes in place {}", steps[i].number, steps[i].name, i + 1);
    return {};
}

// That what has been applied is what we know; how many steps that is.
Result<size_t> count_applied(Transaction& transaction, std::span<const Migration> steps,
                             const std::string& where) {
    BELAY_TRY(applied, transaction.query_all("SELECT number, name FROM belay_migration ORDER BY number"));
    if (applied.size() > steps.size())
        return bad_input("{}: the schema has {} steps, up to \"{}\"; this program knows {}", where,
                         applied.size(), core::printable(applied.back().text(1).value_or("")), steps.size())
            .hint(
                "a newer version has used this database: install that version, or restore a backup from "
                "before it");
    for (size_t i = 0; i < applied.size(); ++i)
        if (applied[i].integer(0) != steps[i].number || applied[i].text(1) != steps[i].name)
            return bad_input("{}: step {} of the schema is \"{}\", this program has \"{}\" there", where,
                             i + 1, core::printable(applied[i].text(1).value_or("")), steps[i].name)
                .hint("the database belongs to another program");
    return applied.size();
}

Result<> apply(Transaction& transaction, const Migration& step) {
    BELAY_TRY(statements, split_statements(step.sql));
    for (std::string_view statement : statements) BELAY_CHECK(transaction.execute(statement));
    BELAY_CHECK(
        transaction.execute("INSERT INTO belay_migration (number, name, applied_at) VALUES (?, ?, {now})",
                            {step.number, std::string(step.name)}));
    return {};
}

// Applies the first step that is missing; whether there was one.
Result<bool> apply_next(Database& database, std::span<const Migration> steps,
                        const core::Deadline& deadline) {
    bool has_applied = false;
    BELAY_CHECK(database.transact(Access::kMigration, deadline, [&](Transaction& transaction) -> Result<> {
        has_applied = false;
        BELAY_CHECK(transaction.execute(kStepsTable));
        BELAY_TRY(applied, count_applied(transaction, steps, database.place().name));
        if (applied == steps.size()) return {};
        has_applied = true;
        const Migration& step = steps[applied];
        return core::with_context(apply(transaction, step),
                                  fmt::format("migration {} ({})", step.number, step.name));
    }));
    return has_applied;
}

}  // namespace

Result<> migrate(Database& database, std::span<const Migration> steps, const core::Deadline& deadline) {
    BELAY_CHECK(check_numbers(steps));
    for (;;) {
        BELAY_TRY(has_applied, apply_next(database, steps, deadline));
        if (!has_applied) return {};
    }
}

}  // namespace belay::database
