#include "metrics/row_mapper.h"

#include "metrics/table_metrics.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace belay::metrics {

namespace {

using schema::ColumnType;

// A counter that fell by more began anew (node_exporter, collector/cpu_linux.go, jumpBackSeconds).
constexpr double kJumpBackSeconds = 3;
constexpr size_t kMostHeld = 10'000;  // series of counters that may go back: one for each node

// One series of a column.
struct ValuePlan {
    size_t column;
    size_t family;
    const MetricRow* row = nullptr;  // nullptr: the column as it is
    bool unsteady = false;
};
struct LabelPlan {
    size_t column;
    std::string_view name;
};

// How the rows of a table become samples of `families`.
struct TablePlan {
    const schema::Table* table = nullptr;
    std::vector<Family> families;  // without samples
    std::vector<LabelPlan> labels;
    std::vector<ValuePlan> values;
    std::optional<size_t> info;
};

std::string_view unit_name(std::string_view unit) {
    auto found = std::ranges::find(kUnits, unit, &UnitRow::unit);
    return found == std::end(kUnits) ? std::string_view() : found->name;
}

// The index of a family of the plan, which is added where it is missing.
size_t family_in(TablePlan& plan, std::string_view metric, MetricType type, std::string_view unit,
                 std::string_view help) {
    std::string name = std::string(kPrefix).append(metric);
    auto found = std::ranges::find(plan.families, name, &Family::name);
    if (found == plan.families.end())
        found = plan.families.insert(
            found,
            {.name = std::move(name), .type = type, .unit = std::string(unit), .help = std::string(help)});
    return static_cast<size_t>(found - plan.families.begin());
}

// OpenMetrics' counters, and none but they, end in _total; the test of this file compares that with what the schema
// says of each quantity.
MetricType type_by_name(std::string_view metric) {
    return metric.ends_with(row_of(MetricType::kCounter).suffix) ? MetricType::kCounter : MetricType::kGauge;
}

void plan_label(TablePlan& plan, size_t index) {
    const schema::Column& column = plan.table->columns[index];
    if (column.type != ColumnType::kText && column.type != ColumnType::kInteger) return;
    std::string_view name = column.name;
    for (const LabelRow& row : kLabels)
        if (row.table == plan.table->name && row.column == column.name) name = row.label;
    if (!name.empty()) plan.labels.push_back({index, name});
}

void plan_value(TablePlan& plan, const TableRow& table, size_t index) {
    const schema::Column& column = plan.table->columns[index];
    if (column.type == ColumnType::kText || column.type == ColumnType::kTimestamp) return;
    auto quantity = std::ranges::find(table.quantities, column.name, &schema::Quantity::name);
    const bool unsteady =
        quantity != table.quantities.end() && quantity->sampling.kind == schema::Sampled::kUnsteadyCounter;
    auto add = [&](std::string_view metric, const MetricRow* row) {
        std::string_view unit = row != nullptr && !row->unit.empty() ? row->unit : column.unit;
        std::string_view help = row != nullptr && !row->help.empty() ? row->help : column.doc;
        const size_t family = family_in(plan, metric, type_by_name(metric), unit_name(unit), help);
        plan.values.push_back({index, family, row, unsteady});
    };
    bool named = false;
    for (const MetricRow& row : kMetrics) {
        if (row.table != plan.table->name || row.column != column.name) continue;
        add(row.metric, &row);
        named = true;
    }
    if (!named) add(std::string(table.subject).append("_").append(column.name), nullptr);
}

TablePlan plan_of(const TableRow& row) {
    constexpr size_t kNode = 1;
    TablePlan plan;
    plan.table = row.table;
    for (size_t i = kNode; i < row.first_value; ++i) plan_label(plan, i);
    for (size_t i = row.first_value; i < row.table->columns.size(); ++i) plan_value(plan, row, i);
    if (!row.info.empty()) plan.info = family_in(plan, row.info, MetricType::kInfo, {}, row.table->doc);
    return plan;
}

const std::vector<TablePlan>& plans() {
    static const std::vector<TablePlan> all = [] {
        std::vector<TablePlan> made;
        for (const TableRow& row : kTableRows) made.push_back(plan_of(row));
        return made;
    }();
    return all;
}

const TablePlan* find_plan(const schema::Table& table) {
    auto found = std::ranges::find(plans(), &table, &TablePlan::table);
    return found == plans().end() ? nullptr : &*found;
}

std::optional<double> value_in(const stream::Batch& rows, size_t row, const ValuePlan& plan) {
    const stream::ColumnValues& values = rows.values(plan.column);
    if (values.present[row] == 0) return std::nullopt;
    if (plan.row != nullptr && plan.row->bits != 0)
        return (values.integers[row] & plan.row->bits) != 0 ? 1.0 : 0.0;
    const bool real = rows.table().columns[plan.column].type == ColumnType::kReal;
    const double value = real ? values.reals[row] : static_cast<double>(values.integers[row]);
    return plan.row != nullptr ? value * plan.row->scale : value;
}

Labels labels_in(const stream::Batch& rows, size_t row, const TablePlan& plan) {
    Labels labels;
    labels.reserve(plan.labels.size() + std::size(MetricRow{}.labels));
    for (const LabelPlan& label : plan.labels) {
        const stream::ColumnValues& values = rows.values(label.column);
        if (values.present[row] == 0) continue;
        const bool text = rows.table().columns[label.column].type == ColumnType::kText;
        labels.push_back(
            {std::string(label.name), text ? values.texts[row] : std::to_string(values.integers[row])});
    }
    return labels;
}

Labels with_fixed_labels(const Labels& labels, const MetricRow* row) {
    Labels all = labels;
    if (row == nullptr) return all;
    for (const FixedLabel& label : row->labels)
        if (!label.name.empty()) all.push_back({std::string(label.name), std::string(label.value)});
    return all;
}

// The value that readers of a counter see, which does not go back a little.
double held(std::map<Labels, double>& before, const Labels& labels, double value) {
    auto found = before.find(labels);
    if (found == before.end()) {
        if (before.size() < kMostHeld) before.emplace(labels, value);
        return value;
    }
    if (value >= found->second || found->second - value > kJumpBackSeconds) found->second = value;
    return found->second;
}

}  // namespace

bool is_shown(const schema::Table& table) {
    return find_plan(table) != nullptr;
}

std::vector<Family> declared_families() {
    std::vector<Family> all;
    for (const TablePlan& plan : plans()) all.insert(all.end(), plan.families.begin(), plan.families.end());
    return all;
}

std::vector<Family> RowMapper::families_of(const stream::Batch& rows) {
    const TablePlan* plan = find_plan(rows.table());
    if (plan == nullptr) return {};
    std::vector<Family> families = plan->families;
    for (size_t row = 0; row < rows.rows(); ++row) {
        if (rows.values(0).present[row] == 0) continue;
        const core::Time time = core::time_from_nanoseconds(rows.values(0).integers[row]);
        const Labels labels = labels_in(rows, row, *plan);
        for (const ValuePlan& value : plan->values) {
            auto number = value_in(rows, row, value);
            if (!number) continue;
            Family& family = families[value.family];
            // A counter below 0 was never one: what was read is wrong, and so it is missing.
            if (family.type == MetricType::kCounter && !(*number >= 0)) continue;
            Labels all = with_fixed_labels(labels, value.row);
            if (value.unsteady) number = held(held_, all, *number);
            family.samples.push_back({std::move(all), *number, time});
        }
        if (plan->info) families[*plan->info].samples.push_back({labels, 1.0, time});
    }
    std::erase_if(families, [](const Family& family) { return family.samples.empty(); });
    return families;
}

}  // namespace belay::metrics
