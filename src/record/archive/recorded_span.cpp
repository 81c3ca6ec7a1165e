#include "record/archive/recorded_span.h"

#include <string>

#include <fmt/format.h>

namespace belay::record {

using core::Result;

Result<std::optional<RecordedSpan>> recorded_span(Archive& archive) {
    const std::optional<core::Time>& end = archive.manifest().job.end;
    std::string in_job;
    if (archive.has_annexes() && end)
        in_job = fmt::format("WHERE time <= make_timestamp({})", core::to_microseconds(*end));
    BELAY_TRY(range, archive.query_kept_row(fmt::format(R"(
        SELECT min(first), max(last) FROM (
          SELECT epoch_us(min(time)) AS first, epoch_us(max(time)) AS last FROM host
          UNION ALL SELECT epoch_us(min(time)), epoch_us(max(time)) FROM network
          UNION ALL SELECT epoch_us(min(time)), epoch_us(max(time)) FROM filesystem
          UNION ALL SELECT epoch_us(min(time)), epoch_us(max(time)) FROM process
          UNION ALL SELECT epoch_us(min(time)), epoch_us(max(time)) FROM event {}
          UNION ALL SELECT epoch_us(min(t0)), epoch_us(max(coalesce(t1, t0))) FROM allocation))",
                                                        in_job)));
    const double first = as_double(range[0]);
    const double last = as_double(range[1]);
    if (!(last >= first)) return std::nullopt;
    return RecordedSpan{.first = core::time_from_microseconds(first),
                        .last = core::time_from_microseconds(last)};
}

}  // namespace belay::record
