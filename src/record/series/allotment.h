// How many CPUs a job may use on each node, and when: of the intervals of the table allocation.
#pragma once

#include <string_view>

namespace belay::record {

// SQL: the CPUs that the steps of a record had on each node together, from t0 to t1; no row for a pause
// between steps. Steps that overlap have CPUs of their own, but never more than the node has. A batch script
// and an interactive shell have the CPUs of the job, of which the steps that they start take a part.
inline constexpr std::string_view kAllotmentSql = R"(
    WITH held AS (
           SELECT node, coalesce(step_id, 'interactive') = 'interactive' AS is_whole, cpus,
                  coalesce(t0, (SELECT min(time) FROM host)) AS t0,
                  coalesce(t1, (SELECT max(time) FROM host)) AS t1
           FROM allocation WHERE device IS NULL),
         edges AS (
           SELECT node, is_whole, t0 AS moment, cpus, 1 AS steps FROM held WHERE t1 > t0 UNION ALL
           SELECT node, is_whole, t1, -cpus, -1 FROM held WHERE t1 > t0),
         sums AS (SELECT node, moment, sum(cpus) FILTER (is_whole) AS whole, sum(cpus) FILTER (NOT is_whole) AS parts,
                         sum(steps) AS steps FROM edges GROUP BY node, moment),
         levels AS (
           SELECT node, moment AS t0, lead(moment) OVER edge AS t1, sum(steps) OVER edge AS steps,
                  greatest(sum(whole) OVER edge, sum(parts) OVER edge) AS cpus
           FROM sums WINDOW edge AS (PARTITION BY node ORDER BY moment)),
         size AS (SELECT node, max(cpu_count) AS cpus FROM host GROUP BY node)
    SELECT levels.node, t0, t1, nullif(least(levels.cpus, size.cpus), 0) AS cpus
    FROM levels LEFT JOIN size ON size.node = levels.node WHERE steps > 0 AND t1 IS NOT NULL)";

}  // namespace belay::record
