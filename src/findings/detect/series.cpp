#include "findings/detect/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace belay::findings {

namespace {

size_t column_of(const record::QueryResult& rows, std::string_view name) {
    return static_cast<size_t>(std::ranges::find(rows.columns, name) - rows.columns.begin());
}

std::optional<int64_t> as_integer(const record::Value& value) {
    const auto* integer = std::get_if<int64_t>(&value);
    return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

struct Place {
    size_t series;
    double time;
    size_t row;
};

}  // namespace

const std::vector<double>& Series::operator[](std::string_view name) const {
    static const std::vector<double> none;
    auto found = columns.find(name);
    return found != columns.end() ? found->second : none;
}

std::vector<Series> split_series(const record::QueryResult& rows) {
    const size_t none = rows.columns.size();
    const size_t time = column_of(rows, "time");
    const size_t node = column_of(rows, "node");
    const size_t device = column_of(rows, "device");
    const size_t task = column_of(rows, "task");
    std::vector<Series> out;
    if (time == none) return out;
    std::map<std::tuple<std::string, std::string, std::optional<int64_t>>, size_t> known;
    std::vector<Place> places;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
        const auto& row = rows.rows[i];
        const auto* when = std::get_if<core::Time>(&row[time]);
        if (when == nullptr) continue;
        std::tuple key(node != none ? record::as_text(row[node]) : "",
                       device != none ? record::as_text(row[device]) : "",
                       task != none ? as_integer(row[task]) : std::nullopt);
        auto [found, is_new] = known.try_emplace(key, out.size());
        if (is_new) out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), {}, {}});
        places.push_back({found->second, static_cast<double>(core::to_nanoseconds(*when)) * 1e-9, i});
    }
    // In the order of their names: SQL gives groups in any.
    std::vector<size_t> rank(out.size());
    std::vector<Series> named;
    for (const auto& [key, found] : known) {
        rank[found] = named.size();
        named.push_back(std::move(out[found]));
    }
    out = std::move(named);
    for (Place& place : places) place.series = rank[place.series];
    std::ranges::stable_sort(places, {}, [](const Place& p) { return std::pair(p.series, p.time); });
    for (const Place& place : places) out[place.series].times.push_back(place.time);
    for (size_t column = 0; column < rows.columns.size(); ++column) {
        if (column == time || column == node || column == device || column == task) continue;
        for (const Place& place : places)
            out[place.series].columns[rows.columns[column]].push_back(
                record::as_double(rows.rows[place.row][column]));
    }
    return out;
}

core::Time time_of(double seconds) {
    return core::time_from_microseconds(std::round(seconds * 1e6));
}

Rows::Rows(std::span<const std::string_view> more) {
    result_.columns = {"start", "end", "node", "device", "task"};
    result_.columns.insert(result_.columns.end(), more.begin(), more.end());
}

void Rows::add(const Series& series, double start, double end) {
    auto& row = result_.rows.emplace_back(result_.columns.size());
    row[0] = time_of(start);
    row[1] = time_of(end);
    if (!series.node.empty()) row[2] = series.node;
    if (!series.device.empty()) row[3] = series.device;
    if (series.task) row[4] = *series.task;
}

void Rows::set(std::string_view column, double value) {
    if (!std::isnan(value)) cell(column) = value;
}

void Rows::set(std::string_view column, std::string_view text) {
    cell(column) = std::string(text);
}

record::Value& Rows::cell(std::string_view column) {
    return result_.rows.back().at(column_of(result_, column));
}

}  // namespace belay::findings
