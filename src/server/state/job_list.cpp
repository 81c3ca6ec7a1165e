#include "server/state/job_list.h"

#include "core/text.h"
#include "server/access/base64url.h"
#include "server/state/job_row.h"
#include "server/state/rows.h"

#include <bit>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;
using database::Values;

namespace {

// A part of a WHERE with its values.
struct Condition {
    std::string sql;
    Values values;

    void add(std::string_view more, Values more_values) {
        sql += sql.empty() ? "" : " AND ";
        sql += more;
        for (database::Value& value : more_values) values.push_back(std::move(value));
    }
};

// "(?, ?, …)" with as many as a power of two, the last one repeated: few statements are kept prepared then.
Condition one_of(std::string_view column, const std::set<std::string>& texts) {
    Condition condition;
    const size_t count = std::bit_ceil(texts.size());
    std::string marks;
    for (size_t i = 0; i < count; ++i) marks += i == 0 ? "?" : ", ?";
    condition.sql = fmt::format("{} IN ({})", column, marks);
    for (const std::string& text : texts) condition.values.emplace_back(text);
    condition.values.resize(count, *texts.rbegin());
    return condition;
}

Result<std::set<std::string>> named(const std::set<std::string>& accounts) {
    std::set<std::string> names = accounts;
    names.erase("");
    if (names.size() > kMostFilterAccounts)
        return core::bad_input("jobs of more than {} accounts cannot be asked for at once",
                               kMostFilterAccounts);
    return names;
}

// Any of these makes a job visible. None: nothing is.
Result<std::vector<Condition>> ways_to_see(const JobFilter& filter) {
    std::vector<Condition> ways;
    if (filter.all) {
        ways.emplace_back();
        return ways;
    }
    if (!filter.owner.empty()) ways.push_back({"user_name = ?", {filter.owner}});
    BELAY_TRY(managed, named(filter.accounts));
    if (!managed.empty()) ways.push_back(one_of("account", managed));
    BELAY_TRY(shared, named(filter.shared_in));
    if (!shared.empty()) {
        ways.push_back(one_of("account", shared));
        ways.back().add("sharing = ?", {std::string(sharing_name(Sharing::kProject))});
    }
    return ways;
}

// With "!" before what LIKE has its own use for.
std::string pattern_of(std::string_view text) {
    std::string pattern = "%";
    for (char c : text) {
        if (c == '!' || c == '%' || c == '_') pattern += '!';
        pattern += c;
    }
    return pattern + "%";
}

std::string cursor_behind(const database::Row& row, size_t sort_time_column) {
    return base64url_encode(
        fmt::format("1 {} {}", row.integer(sort_time_column).value_or(0), text_at(row, 0)));
}

Result<> add_cursor(Condition& condition, const std::string& cursor) {
    if (cursor.empty()) return {};
    const auto text = base64url_decode(cursor);
    const size_t blank = text && text->starts_with("1 ") ? text->find(' ', 2) : std::string::npos;
    if (blank != std::string::npos)
        if (const auto time = core::parse_number<int64_t>(std::string_view(*text).substr(2, blank - 2))) {
            condition.add("(sort_time, job_key) < (?, ?)", {*time, text->substr(blank + 1)});
            return {};
        }
    return core::bad_input("the cursor is not one of a page before");
}

Result<Condition> narrowed(const JobFilter& filter, const JobConditions& conditions,
                           const std::string& cursor) {
    Condition condition;
    if (filter.job) condition.add("job_key = ?", {*filter.job});
    if (conditions.user) condition.add("user_name = ?", {*conditions.user});
    if (conditions.account) condition.add("account = ?", {*conditions.account});
    if (conditions.state) condition.add("slurm_state = ?", {*conditions.state});
    if (conditions.node)
        condition.add("job_key IN (SELECT job_key FROM job_node WHERE node = ?)", {*conditions.node});
    if (conditions.since) condition.add("sort_time >= ?", {time_value(*conditions.since)});
    if (conditions.until) condition.add("sort_time < ?", {time_value(*conditions.until)});
    if (conditions.text) condition.add("job_name LIKE ? ESCAPE '!'", {pattern_of(*conditions.text)});
    BELAY_CHECK(add_cursor(condition, cursor));
    return condition;
}

// One query for each way to see a job, each of which an index serves up to its limit: of OR the engines make a look at all jobs.
Condition query_of(const std::vector<Condition>& ways, const Condition& narrowed, size_t limit) {
    constexpr std::string_view kNewest = "ORDER BY sort_time DESC, job_key DESC LIMIT";
    Condition query;
    for (size_t i = 0; i < ways.size(); ++i) {
        Condition branch = ways[i];
        if (!narrowed.sql.empty()) branch.add(narrowed.sql, narrowed.values);
        query.sql += fmt::format(
            "{}SELECT job_key FROM (SELECT job_key, sort_time FROM job{}{} {} {}) AS way_{}",
            i == 0 ? "" : " UNION ", branch.sql.empty() ? "" : " WHERE ", branch.sql, kNewest, limit, i);
        for (database::Value& value : branch.values) query.values.push_back(std::move(value));
    }
    query.sql = fmt::format("SELECT {}, sort_time FROM job WHERE job_key IN ({}) {} {}", kJobColumns,
                            query.sql, kNewest, limit);
    return query;
}

}  // namespace

Result<JobPage> list_jobs(database::Database& database, const JobFilter& filter,
                          const JobConditions& conditions, const Page& page, const core::Deadline& deadline) {
    BELAY_CHECK(check_page(page));
    BELAY_TRY(ways, ways_to_see(filter));
    BELAY_TRY(narrow, narrowed(filter, conditions, page.cursor));
    if (ways.empty()) return JobPage{};
    const Condition query = query_of(ways, narrow, page.size + 1);
    BELAY_TRY(rows, database.query(deadline, query.sql, query.values));
    JobPage found;
    if (rows.size() > page.size) {
        rows.resize(page.size);
        found.next = cursor_behind(rows.back(), rows.back().size() - 1);
    }
    BELAY_TRY(jobs, jobs_of(rows));
    found.jobs = std::move(jobs);
    return found;
}

}  // namespace belay::server
