#include "server/state/job_store.h"

#include "core/utf8.h"
#include "server/state/job_row.h"
#include "server/state/names.h"
#include "server/state/page.h"
#include "server/state/rows.h"
#include "server/state/transacted.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Deadline;
using core::Result;
using database::Database;
using database::Transaction;
using database::Value;
using database::Values;

namespace {

constexpr size_t kLongestKey = 512, kLongestText = 4096;

// What is null in a new row leaves the old value. Times decide by themselves where the job stands in lists.
constexpr std::string_view kPutJob =
    "INSERT INTO job (job_key, cluster, job_id, array_job, array_task, restart, submit_time, start_time, "
    "end_time,"
    " user_name, account, job_name, partition_name, slurm_state, nodes, is_over, phase, phase_why, sharing,"
    " shares_last_words, origin, first_seen, changed, sort_time)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (job_key) DO UPDATE SET"
    " array_job = COALESCE(excluded.array_job, job.array_job),"
    " array_task = COALESCE(excluded.array_task, job.array_task),"
    " submit_time = COALESCE(excluded.submit_time, job.submit_time),"
    " start_time = COALESCE(excluded.start_time, job.start_time),"
    " end_time = COALESCE(excluded.end_time, job.end_time),"
    " user_name = COALESCE(excluded.user_name, job.user_name),"
    " account = COALESCE(excluded.account, job.account),"
    " job_name = COALESCE(excluded.job_name, job.job_name),"
    " partition_name = COALESCE(excluded.partition_name, job.partition_name),"
    " slurm_state = COALESCE(excluded.slurm_state, job.slurm_state),"
    " nodes = CASE WHEN excluded.nodes = '' THEN job.nodes ELSE excluded.nodes END,"
    " is_over = CASE WHEN job.is_over = 1 THEN 1 ELSE excluded.is_over END,"
    " changed = excluded.changed,"
    " sort_time = COALESCE(excluded.submit_time, job.submit_time, excluded.start_time, job.start_time,"
    " job.first_seen)"
    " WHERE job.phase <> 'erased'";

Values values_of(const Job& job, const std::string& nodes, core::Time now) {
    return {job.key,
            job.cluster,
            job.id,
            database::or_null(job.array_job),
            database::or_null(job.array_task),
            job.restart,
            time_value(job.submit),
            time_value(job.start),
            time_value(job.end),
            text_value(job.user),
            text_value(job.account),
            text_value(core::to_valid_utf8(job.name)),
            text_value(job.partition),
            text_value(job.slurm_state),
            nodes,
            truth_value(job.is_over),
            std::string(phase_name(job.phase)),
            text_value(core::to_valid_utf8(job.phase_why)),
            std::string(sharing_name(job.sharing)),
            truth_value(job.shares_last_words),
            std::string(origin_name(job.origin)),
            time_value(now),
            time_value(now),
            time_value(job.submit ? *job.submit : job.start.value_or(now))};
}

Result<> check_job(const Job& job) {
    if (job.key.empty()) return core::bad_input("a job without a key");
    BELAY_CHECK(check_readable(job.key, "key of the job", kLongestKey));
    if (!job.user.empty()) BELAY_CHECK(check_plain_name(job.user, "name of a user"));
    if (job.nodes.size() > kMostNodesOfJob)
        return core::bad_input("job {} has more than {} nodes", job.key, kMostNodesOfJob);
    for (const std::string& node : job.nodes) BELAY_CHECK(check_plain_name(node, "name of a node"));
    const std::pair<const std::string*, std::string_view> texts[] = {{&job.cluster, "name of the cluster"},
                                                                     {&job.account, "account"},
                                                                     {&job.partition, "partition"},
                                                                     {&job.slurm_state, "state of the job"}};
    for (const auto& [text, what] : texts) BELAY_CHECK(check_readable(*text, what, kLongestText));
    if (job.name.size() > kLongestText) return core::bad_input("the name of job {} is too long", job.key);
    return {};
}

Result<> put_nodes(Transaction& transaction, const Job& job) {
    constexpr size_t kAtOnce = 500;  // rows of a statement
    BELAY_CHECK(transaction.execute("DELETE FROM job_node WHERE job_key = ?", {job.key}));
    const std::set<std::string> unique(job.nodes.begin(), job.nodes.end());
    std::string rows;
    Values values;
    const auto insert = [&]() -> Result<> {
        if (values.empty()) return {};
        BELAY_CHECK(transaction.execute("INSERT INTO job_node (node, job_key) VALUES " + rows, values));
        rows.clear();
        values.clear();
        return {};
    };
    for (const std::string& node : unique) {
        rows += rows.empty() ? "(?, ?)" : ", (?, ?)";
        values.emplace_back(node);
        values.emplace_back(job.key);
        if (values.size() == 2 * kAtOnce) BELAY_CHECK(insert());
    }
    return insert();
}

}  // namespace

Result<> put_job(Transaction& transaction, const Job& job, core::Time now) {
    BELAY_CHECK(check_job(job));
    const std::string nodes = joined_nodes(job.nodes);
    BELAY_TRY(before, transaction.query_row("SELECT nodes FROM job WHERE job_key = ?", {job.key}));
    BELAY_TRY(changed, transaction.execute(kPutJob, values_of(job, nodes, now)));
    const bool has_other_nodes = !before || (!nodes.empty() && text_at(*before, 0) != nodes);
    return changed == 1 && has_other_nodes ? put_nodes(transaction, job) : Result<>();
}
Result<> put_job(Database& database, const Job& job, core::Time now, const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return put_job(transaction, job, now); });
}

Result<std::optional<Job>> find_job(Transaction& transaction, std::string_view key) {
    BELAY_TRY(row, transaction.query_row(fmt::format("SELECT {} FROM job WHERE job_key = ?", kJobColumns),
                                         {std::string(key)}));
    if (!row) return std::optional<Job>();
    BELAY_TRY(job, job_of(*row));
    return std::optional(std::move(job));
}
Result<std::optional<Job>> find_job(Database& database, std::string_view key, const Deadline& deadline) {
    return in_read(database, deadline, [&](Transaction& transaction) { return find_job(transaction, key); });
}

Result<std::vector<Job>> find_jobs_by_number(Database& database, std::string_view cluster, int64_t number,
                                             const Deadline& deadline) {
    std::string sql = fmt::format("SELECT {} FROM job WHERE (job_id = ? OR array_job = ?)", kJobColumns);
    Values values = {number, number};
    if (!cluster.empty()) {
        sql += " AND cluster = ?";
        values.emplace_back(std::string(cluster));
    }
    sql += fmt::format(" ORDER BY sort_time DESC, job_key DESC LIMIT {}", kLargestPage);
    BELAY_TRY(rows, database.query(deadline, sql, values));
    return jobs_of(rows);
}

Result<std::vector<Job>> list_open_jobs(Database& database, std::string_view after, size_t most,
                                        const Deadline& deadline) {
    // The condition is that of the index, word by word.
    const std::string sql = fmt::format(
        "SELECT {} FROM job WHERE (is_over = 0 OR phase = 'none' OR phase = 'cutting')"
        " AND phase <> 'erased' AND job_key > ? ORDER BY job_key LIMIT {}",
        kJobColumns, std::min(most, kLargestPage));
    BELAY_TRY(rows, database.query(deadline, sql, {std::string(after)}));
    return jobs_of(rows);
}

Result<bool> set_phase(Transaction& transaction, std::string_view key, RecordPhase phase,
                       std::string_view why, core::Time now) {
    const std::string reason = core::to_valid_utf8(core::utf8_prefix(why, kLongestText));
    BELAY_TRY(changed, transaction.execute("UPDATE job SET phase = ?, phase_why = ?, changed = ?"
                                           " WHERE job_key = ? AND phase <> 'erased'",
                                           {std::string(phase_name(phase)), text_value(reason),
                                            time_value(now), std::string(key)}));
    return changed == 1;
}
Result<bool> set_phase(Database& database, std::string_view key, RecordPhase phase, std::string_view why,
                       core::Time now, const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return set_phase(transaction, key, phase, why, now); });
}

Result<bool> set_sharing(Transaction& transaction, std::string_view key, const JobSharing& sharing,
                         core::Time now) {
    BELAY_TRY(changed, transaction.execute(
                           "UPDATE job SET sharing = ?, shares_last_words = ?, changed = ?"
                           " WHERE job_key = ? AND phase <> 'erased'",
                           {std::string(sharing_name(sharing.sharing)),
                            truth_value(sharing.shares_last_words), time_value(now), std::string(key)}));
    return changed == 1;
}
Result<bool> set_sharing(Database& database, std::string_view key, const JobSharing& sharing, core::Time now,
                         const Deadline& deadline) {
    return in_write(database, deadline,
                    [&](Transaction& transaction) { return set_sharing(transaction, key, sharing, now); });
}

}  // namespace belay::server
