#include "record/archive/sampling_interval.h"

#include "core/time.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace belay::record {

using core::Result;

namespace {

constexpr double kUsual = 1;  // seconds
constexpr double kShortest = 1e-3;

// The first cell; NaN where there is none.
Result<double> number(Archive& archive, const std::string& sql) {
    BELAY_TRY(answer, archive.query(sql));
    return as_double(answer.rows.at(0).at(0));
}

// Samples of one moment are no step apart, so that of processes the moments count.
std::string distance_sql(const schema::Table& table) {
    const bool has_device = std::ranges::find(table.columns, std::string_view("device"),
                                              &schema::Column::name) != table.columns.end();
    return fmt::format(
        "SELECT median(step) / 1e6 FROM (SELECT epoch_us(time) - lag(epoch_us(time)) OVER (PARTITION BY {0} "
        "ORDER BY time) AS step FROM (SELECT time, {0} FROM \"{1}\" LIMIT 200000)) WHERE step > 0",
        has_device ? "node, device" : "node", table.name);
}

}  // namespace

Result<double> sampling_interval(Archive& archive, const schema::Table* of) {
    BELAY_TRY(
        counted,
        number(archive, fmt::format("SELECT median(interval_seconds) FROM coverage "
                                    "WHERE interval_seconds > 0{}",
                                    of != nullptr ? fmt::format(" AND table_name = '{}'", of->name) : "")));
    if (counted > 0) return std::max(counted, kShortest);
    if (archive.manifest().interval.count() > 0)
        return std::max(core::to_seconds(archive.manifest().interval), kShortest);
    if (of == nullptr) return kUsual;
    BELAY_TRY(distance, number(archive, distance_sql(*of)));
    return distance > 0 ? std::max(distance, kShortest) : kUsual;
}

}  // namespace belay::record
