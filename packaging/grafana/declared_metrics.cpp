// Every metric that Belay's tables can become, as JSON for the test of the dashboards:
//   [{"name": "belay_net_bytes_total", "type": "counter", "unit": "bytes", "labels": {"node": null, "dev": null, "dir": ["rx", "tx"]}}]
// A label has the values that it can take, or null where they are those of a key column.
#include "core/time.h"
#include "metrics/row_mapper.h"
#include "metrics/table_metrics.h"
#include "schema/schema.h"
#include "stream/batch.h"

#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay {
namespace {

constexpr core::Time kNoon = core::time_from_nanoseconds(1'700'000'000'000'000'000);
// What no label has that is a constant.
constexpr const char* kText = "any text";
constexpr int64_t kNumber = 987'654'321;

stream::Batch full_row(const schema::Table& table) {
    constexpr size_t kFirst = 2;  // after time and node
    stream::Batch rows(table);
    rows.add_row(kNoon, kText);
    for (size_t i = kFirst; i < table.columns.size(); ++i) {
        switch (table.columns[i].type) {
            case schema::ColumnType::kTimestamp:
                rows.set(i, kNoon);
                break;
            case schema::ColumnType::kText:
                rows.set(i, kText);
                break;
            case schema::ColumnType::kInteger:
                rows.set(i, kNumber);
                break;
            case schema::ColumnType::kReal:
                rows.set(i, 1.5);
                break;
            case schema::ColumnType::kBoolean:
                rows.set(i, true);
                break;
        }
    }
    return rows;
}

nlohmann::json labels_of(const metrics::Family& family) {
    std::map<std::string, std::set<std::string>> values;
    for (const metrics::Sample& sample : family.samples)
        for (const metrics::Label& label : sample.labels) values[label.name].insert(label.value);
    nlohmann::json labels = nlohmann::json::object();
    for (const auto& [name, texts] : values) {
        const bool is_key = texts.contains(kText) || texts.contains(std::to_string(kNumber));
        labels[name] = is_key ? nlohmann::json() : nlohmann::json(texts);
    }
    return labels;
}

nlohmann::json declared_metrics() {
    nlohmann::json all = nlohmann::json::array();
    for (const metrics::TableRow& row : metrics::kTableRows) {
        const stream::Batch rows = full_row(*row.table);
        for (const metrics::Family& family : metrics::RowMapper().families_of(rows))
            all.push_back({{"name", family.name},
                           {"type", std::string(metrics::row_of(family.type).name)},
                           {"unit", family.unit},
                           {"labels", labels_of(family)}});
    }
    return all;
}

}  // namespace
}  // namespace belay

int main() {
    fmt::print("{}\n", belay::declared_metrics().dump(1));
}
