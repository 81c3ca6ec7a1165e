#include "server/packed/span_table.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using schema::ColumnType;

size_t SpanTable::add(std::string name, ColumnType type) {
    names_.push_back(std::move(name));
    columns_.push_back({names_.back(), type, "", ""});
    return columns_.size() - 1;
}

SpanTable::SpanTable(const SampledTable& sampled) : sampled_(&sampled), table_(*sampled.table) {
    add("time", ColumnType::kTimestamp);
    add("node", ColumnType::kText);
    const auto columns = sampled.table->columns;
    for (size_t key : sampled.keys) keys_.push_back(add(std::string(columns[key].name), columns[key].type));
    for (size_t label : sampled.labels)
        labels_.push_back(add(std::string(columns[label].name), columns[label].type));
    first_sample_ = add("first_sample", ColumnType::kTimestamp);
    last_sample_ = add("last_sample", ColumnType::kTimestamp);
    for (const SampledColumn& column : sampled.columns) {
        const std::string_view name = columns[column.column].name;
        const auto add_part = [&](std::string_view part, ColumnType type) {
            return add(fmt::format("{}.{}", name, part), type);
        };
        SpanColumns places;
        if (column.is_counter()) {
            places.first = add_part("first", ColumnType::kReal);
            places.last = add_part("last", ColumnType::kReal);
            places.increase = add_part("increase", ColumnType::kReal);
        } else {
            places.min = add_part("min", ColumnType::kReal);
            places.max = add_part("max", ColumnType::kReal);
            places.mean = add_part("mean", ColumnType::kReal);
            places.last = add_part("last", ColumnType::kReal);
        }
        places.count = add_part("count", ColumnType::kInteger);
        places_.push_back(places);
    }
    table_.columns = columns_;
}

namespace {

struct AllSpanTables {
    std::vector<std::unique_ptr<const SpanTable>> made;
    std::vector<const schema::Table*> tables;

    AllSpanTables() {
        for (const schema::Table* table : schema::tables())
            if (const SampledTable* sampled = sampled_table(*table)) {
                made.push_back(std::make_unique<const SpanTable>(*sampled));
                tables.push_back(&made.back()->table());
            }
    }
};

const AllSpanTables& all_span_tables() {
    static const AllSpanTables all;
    return all;
}

}  // namespace

const SpanTable* span_table(const schema::Table& of) {
    for (const auto& made : all_span_tables().made)
        if (made->sampled().table == &of) return made.get();
    return nullptr;
}

const SpanTable* span_table_of_rows(const schema::Table& table) {
    for (const auto& made : all_span_tables().made)
        if (&made->table() == &table) return made.get();
    return nullptr;
}

std::span<const schema::Table* const> span_tables() {
    return all_span_tables().tables;
}

}  // namespace belay::server
