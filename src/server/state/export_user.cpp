#include "server/state/export_user.h"

#include "core/hash.h"
#include "server/access/token.h"
#include "server/state/job_row.h"
#include "server/state/names.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::server {

using core::Result;
using database::Row;
using database::Transaction;
using nlohmann::ordered_json;

namespace {

constexpr size_t kPseudonymDigits = 16;

ordered_json text_or_null(const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}
ordered_json time_or_null(const std::optional<core::Time>& time) {
    return time ? ordered_json(core::format_time(*time)) : ordered_json(nullptr);
}
template <typename Number>
ordered_json number_or_null(const std::optional<Number>& number) {
    return number ? ordered_json(*number) : ordered_json(nullptr);
}

ordered_json job_json(const Job& job) {
    return {{"key", job.key},
            {"cluster", job.cluster},
            {"id", job.id},
            {"array_job", number_or_null(job.array_job)},
            {"array_task", number_or_null(job.array_task)},
            {"restart", job.restart},
            {"submit", time_or_null(job.submit)},
            {"start", time_or_null(job.start)},
            {"end", time_or_null(job.end)},
            {"user", text_or_null(job.user)},
            {"account", text_or_null(job.account)},
            {"name", text_or_null(job.name)},
            {"partition", text_or_null(job.partition)},
            {"state", text_or_null(job.slurm_state)},
            {"nodes", job.nodes},
            {"is_over", job.is_over},
            {"record", phase_name(job.phase)},
            {"sharing", sharing_name(job.sharing)},
            {"shares_last_words", job.shares_last_words},
            {"origin", origin_name(job.origin)},
            {"first_seen", core::format_time(job.first_seen)}};
}

// One list of the export.
struct Section {
    std::string_view name;
    std::string sql;  // each "?" is the user
    size_t marks = 1;
    std::function<Result<ordered_json>(const Row&)> to_json;
};

Section jobs_section() {
    return {
        .name = "jobs",
        .sql = fmt::format("SELECT {} FROM job WHERE user_name = ? ORDER BY sort_time, job_key", kJobColumns),
        .to_json = [](const Row& row) -> Result<ordered_json> {
            BELAY_TRY(job, job_of(row));
            return job_json(job);
        }};
}
Section links_section() {
    return {.name = "links",
            .sql =
                "SELECT id, job_key, is_once, created, expires, taken FROM link WHERE made_by = ? ORDER BY "
                "created",
            .to_json = [](const Row& row) -> Result<ordered_json> {
                return ordered_json{{"id", text_at(row, 0)},
                                    {"job", text_at(row, 1)},
                                    {"once", row.truth(2)},
                                    {"created", core::format_time(time_at(row, 3))},
                                    {"expires", core::format_time(time_at(row, 4))},
                                    {"taken", time_or_null(optional_time_at(row, 5))}};
            }};
}
Section tokens_section() {
    return {.name = "tokens",
            .sql =
                "SELECT id, role, project, label, created, expires, revoked, last_used FROM token"
                " WHERE user_name = ? AND role <> 'node' ORDER BY created",
            .to_json = [](const Row& row) -> Result<ordered_json> {
                return ordered_json{{"id", text_at(row, 0)},
                                    {"role", text_at(row, 1)},
                                    {"project", text_or_null(text_at(row, 2))},
                                    {"label", text_or_null(text_at(row, 3))},
                                    {"created", core::format_time(time_at(row, 4))},
                                    {"expires", time_or_null(optional_time_at(row, 5))},
                                    {"revoked", time_or_null(optional_time_at(row, 6))},
                                    {"last_used", time_or_null(optional_time_at(row, 7))}};
            }};
}
Section sessions_section() {
    return {
        .name = "sessions",
        .sql = "SELECT proof, job_key, created, expires FROM session WHERE user_name = ? ORDER BY created",
        .to_json = [](const Row& row) -> Result<ordered_json> {
            return ordered_json{{"proof", text_at(row, 0)},
                                {"job", text_or_null(text_at(row, 1))},
                                {"created", core::format_time(time_at(row, 2))},
                                {"expires", core::format_time(time_at(row, 3))}};
        }};
}
Section memberships_section() {
    return {.name = "memberships",
            .sql = "SELECT account, is_manager FROM account_member WHERE user_name = ? ORDER BY account",
            .to_json = [](const Row& row) -> Result<ordered_json> {
                return ordered_json{{"account", text_at(row, 0)}, {"manager", row.truth(1)}};
            }};
}
Section audit_section(const Pseudonyms& names, std::string_view own) {
    return {.name = "audit",
            .sql =
                "SELECT at_time, who, what, job_key, owner_name, peer FROM audit"
                " WHERE who = ? OR owner_name = ? ORDER BY id",
            .marks = 2,
            .to_json = [&names, own](const Row& row) -> Result<ordered_json> {
                const std::string who = text_at(row, 1);
                return ordered_json{{"time", core::format_time(time_at(row, 0))},
                                    {"who", text_or_null(names.of(who))},
                                    {"what", text_at(row, 2)},
                                    {"job", text_or_null(text_at(row, 3))},
                                    {"owner", text_or_null(names.of(text_at(row, 4)))},
                                    {"peer", text_or_null(who == own ? text_at(row, 5) : "")}};
            }};
}

std::string dumped(const ordered_json& value) {
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<> append_section(Transaction& transaction, const Section& section, std::string_view user,
                        std::string& out) {
    out += fmt::format(",\n\"{}\":[", section.name);
    const database::Values values(section.marks, std::string(user));
    BELAY_TRY(rows, transaction.query(section.sql, values));
    for (bool is_first = true;; is_first = false) {
        BELAY_TRY(row, rows.next());
        if (row == nullptr) break;
        BELAY_TRY(value, section.to_json(*row));
        out += is_first ? "\n" : ",\n";
        out += dumped(value);
    }
    out += "]";
    return {};
}

}  // namespace

std::string Pseudonyms::of(std::string_view name) const {
    if (!is_plain_name(name) || name == own_) return std::string(name);
    return "person-" + core::to_hex(core::hmac_sha256(key_, name)).substr(0, kPseudonymDigits);
}

Result<std::string> export_user(database::Database& database, std::string_view user, core::Time now,
                                const core::Deadline& deadline) {
    BELAY_CHECK(check_plain_name(user, "name of the user"));
    BELAY_TRY(key, make_token());
    const Pseudonyms names(key.secret, user);
    const Section sections[] = {jobs_section(),     links_section(),       tokens_section(),
                                sessions_section(), memberships_section(), audit_section(names, user)};
    return in_read(database, deadline, [&](Transaction& transaction) -> Result<std::string> {
        std::string out = fmt::format("{{\"user\":{},\n\"made\":{}", dumped(ordered_json(user)),
                                      dumped(ordered_json(core::format_time(now))));
        for (const Section& section : sections) BELAY_CHECK(append_section(transaction, section, user, out));
        return out + "}\n";
    });
}

}  // namespace belay::server
