#include "record/import/jobreport_csv.h"

#include "core/text.h"
#include "core/units.h"
#include "record/import/bounds.h"
#include "record/import/names.h"

#include <algorithm>
#include <cmath>

namespace belay::record {

namespace {

constexpr int64_t kLatestMicroseconds = kLatestSeconds * 1'000'000;
// DCGM's blanks, of 32 and 64 bits, are far above any of these.
constexpr double kHighestPercent = 100;
constexpr double kHighestWatts = 100'000;
constexpr double kMostBytes = 1e15;

bool set_integer(int64_t& target, std::string_view cell) {
    auto number = core::parse_number<int64_t>(cell);
    if (number) target = *number;
    return number && *number >= 0;
}

bool set_text(std::string& target, std::string_view cell) {
    target = short_name(cell);
    return true;
}

bool set_time(core::Time& target, std::string_view cell) {
    auto number = core::parse_number<int64_t>(cell);
    if (!number || *number < 0 || *number > kLatestMicroseconds) return false;
    target = core::Time(std::chrono::microseconds(*number));
    return true;
}

// What is not a number within the range is missing; a row is not given up for it.
bool set_number(double& target, std::string_view cell, double highest) {
    auto number = core::parse_number<double>(cell);
    if (number && *number >= 0 && *number <= highest) target = *number;
    return true;
}

template <auto kMember, double kHighest>
bool number_cell(JobreportRow& row, std::string_view cell) {
    return set_number(row.*kMember, cell, kHighest);
}
template <auto kMember>
bool integer_cell(JobreportRow& row, std::string_view cell) {
    return set_integer(row.*kMember, cell);
}
template <auto kMember>
bool text_cell(JobreportRow& row, std::string_view cell) {
    return set_text(row.*kMember, cell);
}
template <auto kMember>
bool time_cell(JobreportRow& row, std::string_view cell) {
    return set_time(row.*kMember, cell);
}

// False if the row cannot be used without the value.
using Setter = bool (*)(JobreportRow&, std::string_view);
struct CellFacts {
    std::string_view name;
    bool needed;
    Setter set;
};
using Row = JobreportRow;
constexpr CellFacts kCells[] = {
    {"jobId", true, integer_cell<&Row::job_id>},
    {"stepId", false, integer_cell<&Row::step_id>},
    {"username", false, text_cell<&Row::user>},
    {"slurm_account", false, text_cell<&Row::account>},
    {"n_nodes", false, integer_cell<&Row::nodes>},
    {"host", true, text_cell<&Row::host>},
    {"gpuId", true, integer_cell<&Row::gpu>},
    {"powerUsageMin", false, number_cell<&Row::power_minimum, kHighestWatts>},
    {"powerUsageMax", false, number_cell<&Row::power_maximum, kHighestWatts>},
    {"powerUsageAvg", false, number_cell<&Row::power_average, kHighestWatts>},
    {"startTime", true, time_cell<&Row::start>},
    {"endTime", true, time_cell<&Row::end>},
    {"smUtilizationMin", false, number_cell<&Row::sm_minimum, kHighestPercent>},
    {"smUtilizationMax", false, number_cell<&Row::sm_maximum, kHighestPercent>},
    {"smUtilizationAvg", false, number_cell<&Row::sm_average, kHighestPercent>},
    {"memoryUtilizationMin", false, number_cell<&Row::memory_minimum, kHighestPercent>},
    {"memoryUtilizationMax", false, number_cell<&Row::memory_maximum, kHighestPercent>},
    {"memoryUtilizationAvg", false, number_cell<&Row::memory_average, kHighestPercent>},
    {"maxAllocatedMemory", false, number_cell<&Row::most_allocated_bytes, kMostBytes>},
};

// What each column is; nothing if one that is needed is not there.
std::optional<std::vector<const CellFacts*>> columns_of(std::string_view header) {
    std::vector<const CellFacts*> columns;
    for (std::string_view name : core::split(header, ',')) {
        const auto* found = std::ranges::find(kCells, core::trim(name), &CellFacts::name);
        columns.push_back(found == std::end(kCells) ? nullptr : found);
    }
    for (const CellFacts& cell : kCells)
        if (cell.needed && std::ranges::find(columns, &cell) == columns.end()) return std::nullopt;
    return columns;
}

std::optional<JobreportRow> row_of(std::string_view line, const std::vector<const CellFacts*>& columns) {
    std::vector<std::string_view> cells = core::split(line, ',');
    if (cells.size() != columns.size()) return std::nullopt;
    JobreportRow row;
    for (size_t i = 0; i < cells.size(); ++i)
        if (columns[i] != nullptr && !columns[i]->set(row, core::trim(cells[i])) && columns[i]->needed)
            return std::nullopt;
    if (row.host.empty() || row.gpu >= kMostGpus || row.end < row.start) return std::nullopt;
    return row;
}

std::string or_unknown(double value, std::string_view unit) {
    return std::isnan(value) ? "unknown" : fmt::format("{:.0f} {}", value, unit);
}

}  // namespace

std::optional<JobreportFile> parse_jobreport(std::string_view text) {
    size_t end = std::min(text.find('\n'), text.size());
    auto columns = columns_of(text.substr(0, end));
    if (!columns) return std::nullopt;
    JobreportFile file;
    int64_t number = 1;
    while (end < text.size()) {
        size_t start = end + 1;
        end = text.find('\n', start);
        bool ended = end != std::string_view::npos;
        end = std::min(end, text.size());
        std::string_view line = core::trim(text.substr(start, end - start));
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        auto row = ended ? row_of(line, *columns) : std::nullopt;  // a last line without its end is torn
        if (row)
            file.rows.push_back(std::move(*row));
        else
            file.unreadable_lines.push_back(number);
    }
    return file;
}

std::string summary_of(const JobreportRow& row) {
    double seconds = core::to_seconds(row.end - row.start);
    double watt_hours = row.power_average * seconds / 3600;
    return fmt::format(
        "GPU {} for {}: utilization {} ({} to {}), memory bandwidth {} ({} to {}), power {} ({} to {}), "
        "energy {} "
        "as mean power × time, at most {} allocated",
        row.gpu, core::format_duration(row.end - row.start), or_unknown(row.sm_average, "%"),
        or_unknown(row.sm_minimum, "%"), or_unknown(row.sm_maximum, "%"), or_unknown(row.memory_average, "%"),
        or_unknown(row.memory_minimum, "%"), or_unknown(row.memory_maximum, "%"),
        or_unknown(row.power_average, "W"), or_unknown(row.power_minimum, "W"),
        or_unknown(row.power_maximum, "W"), or_unknown(watt_hours, "Wh"),
        std::isnan(row.most_allocated_bytes)
            ? "unknown"
            : core::format_binary({static_cast<uint64_t>(row.most_allocated_bytes)}));
}

}  // namespace belay::record
