#include "server/keeper/follower_store.h"

#include "core/text.h"
#include "server/keeper/follower_json.h"
#include "server/state/node_store.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <utility>

namespace belay::server {

using core::Result;
using database::Transaction;

namespace {

constexpr std::string_view kUntilSetting = "followed-until";
constexpr int64_t kBatch = 500;

}  // namespace

Result<FollowerStore::Kept> FollowerStore::load(const core::Deadline& deadline) {
    written_.clear();
    Kept kept;
    auto read = in_read(*database_, deadline, [&](Transaction& transaction) -> Result<> {
        written_.clear();
        kept = {};
        for (std::string after;;) {
            BELAY_TRY(
                rows,
                transaction.query_all(
                    "SELECT job_key, facts FROM followed_job WHERE job_key > ? ORDER BY job_key LIMIT ?",
                    {after, kBatch}));
            for (const database::Row& row : rows) {
                after = text_at(row, 0);
                BELAY_TRY(job, core::with_context(followed_job_from_json(text_at(row, 1)), after));
                written_.emplace(after, job);
                kept.state.jobs.push_back(std::move(job));
            }
            if (rows.size() < static_cast<size_t>(kBatch)) break;
        }
        BELAY_TRY(until, transaction.query_row("SELECT setting_value FROM setting WHERE name = ?",
                                               {std::string(kUntilSetting)}));
        if (until)
            if (const auto nanoseconds = core::parse_number<int64_t>(text_at(*until, 0)))
                kept.until = core::time_from_nanoseconds(*nanoseconds);
        return {};
    });
    if (!read) return std::unexpected(std::move(read.error()));
    return kept;
}

Result<> FollowerStore::save(const FollowerState& state, core::Time until, const core::Deadline& deadline) {
    std::map<std::string, FollowedJob> now;
    for (const FollowedJob& job : state.jobs) now.emplace(job.key, job);
    BELAY_CHECK(in_write(*database_, deadline, [&](Transaction& transaction) -> Result<> {
        for (const auto& [key, job] : now) {
            const auto before = written_.find(key);
            if (before != written_.end() && before->second == job) continue;
            BELAY_CHECK(
                transaction.execute("INSERT INTO followed_job (job_key, facts) VALUES (?, ?)"
                                    " ON CONFLICT (job_key) DO UPDATE SET facts = excluded.facts",
                                    {key, to_json(job)}));
        }
        for (const auto& [key, job] : written_)
            if (!now.contains(key))
                BELAY_CHECK(transaction.execute("DELETE FROM followed_job WHERE job_key = ?", {key}));
        return put_setting(transaction, kUntilSetting, std::to_string(core::to_nanoseconds(until)));
    }));
    written_ = std::move(now);
    return {};
}

}  // namespace belay::server
