#include "report/io_query.h"

#include "record/series/kept_series.h"
#include "record/series/make_series.h"
#include "report/format.h"
#include "schema/tables/io.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace belay::report {

using core::Result;
using record::as_double;
using record::as_text;
using schema::column;
using schema::kIoTotals;
using schema::kIoTotalsColumns;

namespace {

constexpr record::SpanFrame kWholeRun = record::one_span(0);
constexpr size_t kMostMounts = 8;

// Where it stands among the totals. What stands before them, such as the seconds of a span, does not compile.
consteval size_t total(std::string_view name) {
    const size_t first = column(kIoTotals, kIoTotalsColumns[0].series.name), found = column(kIoTotals, name);
    return found >= first ? found - first : throw "not one of the totals";
}

using Totals = std::array<double, kIoTotalsColumns.size()>;
struct Mount {
    std::string name, type, tier;
    auto operator<=>(const Mount&) const = default;
};
using TracedMount = std::pair<Mount, Totals>;

std::string text(const stream::Batch& rows, size_t column, size_t row) {
    const stream::ColumnValues& values = rows.values(column);
    return values.present[row] != 0 ? values.texts[row] : "";
}

Result<std::vector<TracedMount>> busiest_mounts(record::Archive& archive) {
    BELAY_TRY(nodes, record::nodes_in(archive, schema::kIo));
    BELAY_TRY(made, record::make_series(archive, schema::kIoTotalsSeries, kWholeRun, std::move(nodes)));
    std::map<Mount, Totals> by_mount;
    for (size_t row = 0; row < made.rows(); ++row) {
        std::string name = text(made, column(kIoTotals, "mount"), row);
        if (name.empty()) name = text(made, column(kIoTotals, "device"), row);
        Totals& totals = by_mount[{name, text(made, column(kIoTotals, "type"), row),
                                   text(made, column(kIoTotals, "tier"), row)}];
        for (size_t i = 0; i < totals.size(); ++i) {
            const stream::ColumnValues& values =
                made.values(column(kIoTotals, kIoTotalsColumns[0].series.name) + i);
            if (values.present[row] != 0) totals[i] += values.reals[row];
        }
    }
    std::vector<TracedMount> mounts(by_mount.begin(), by_mount.end());
    std::ranges::stable_sort(mounts, std::ranges::greater{},
                             [](const TracedMount& mount) { return mount.second[total("call_seconds")]; });
    if (mounts.size() > kMostMounts) mounts.resize(kMostMounts);
    return mounts;
}

Result<record::QueryResult> rows_of_mounts(record::Archive& archive) {
    std::vector<std::string> columns = {"mount", "type", "tier"};
    for (const schema::SampledSeries& one : kIoTotalsColumns) columns.emplace_back(one.series.name);
    const std::string question = fmt::format("I/O of the {} busiest file systems: {}", kMostMounts,
                                             record::series_facts({&schema::kIoTotalsSeries, 1}, kWholeRun));
    return archive.made_kept(question, columns, [&]() -> Result<record::QueryResult> {
        BELAY_TRY(mounts, busiest_mounts(archive));
        record::QueryResult answer{.columns = columns, .rows = {}};
        for (const auto& [mount, totals] : mounts) {
            auto& row =
                answer.rows.emplace_back(std::vector<record::Value>{mount.name, mount.type, mount.tier});
            for (double one : totals) row.emplace_back(one);
        }
        return answer;
    });
}

std::string times(double calls, std::string_view singular, std::string_view plural = {}) {
    return format_count(static_cast<size_t>(calls), singular, plural);
}

// "lustre, flash: 12000 opens, 24000 looks at names, 4000 names not found, 1.20 GB in 30000 reads (98 % small and random), 2.00 MB
// in 10 writes; 41 s in these calls".
std::string sentence(const Mount& mount, const Totals& totals) {
    const auto of = [&](size_t i) { return totals[i]; };
    std::vector<std::string> parts = {times(of(total("opens")), "open")};
    if (const double looks = of(total("looks")); looks > 0)
        parts.push_back(times(looks, "look at a name", "looks at names"));
    if (const double changes = of(total("changes")); changes > 0)
        parts.push_back(times(changes, "change of a name", "changes of names"));
    if (const double failed = of(total("failed")); failed > 0)
        parts.push_back(times(failed, "name not found", "names not found"));
    if (const double reads = of(total("reads")); reads > 0)
        parts.push_back(fmt::format("{} in {} ({} small and random)",
                                    format_quantity(of(total("read_bytes")), "B"), times(reads, "read"),
                                    format_quantity(of(total("small_random_reads")) / reads, "share")));
    if (const double writes = of(total("writes")); writes > 0)
        parts.push_back(fmt::format("{} in {}", format_quantity(of(total("written_bytes")), "B"),
                                    times(writes, "write")));
    if (const double mapped = of(total("mapped_bytes")); mapped > 0)
        parts.push_back(format_quantity(mapped, "B") + " mapped");
    std::string kind = mount.type;
    if (!mount.tier.empty()) kind += (kind.empty() ? "" : ", ") + mount.tier;
    if (!kind.empty()) kind += ": ";
    return fmt::format("{}{}; {} in these calls", kind, fmt::join(parts, ", "),
                       format_duration(of(total("call_seconds"))));
}

}  // namespace

Result<FactGroup> traced_io(record::Archive& archive) {
    BELAY_TRY(answer, rows_of_mounts(archive));
    FactGroup group{.title = "Input and output", .facts = {}};
    for (const auto& row : answer.rows) {
        Totals totals{};
        for (size_t i = 0; i < totals.size(); ++i) totals[i] = as_double(row[3 + i]);
        group.facts.push_back(
            {as_text(row[0]), sentence({as_text(row[0]), as_text(row[1]), as_text(row[2])}, totals)});
    }
    return group;
}

}  // namespace belay::report
