#include "findings/prepared_tables.h"

#include "findings/derived_tables.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>

namespace belay::findings {

namespace {

// The periodic table of which one that rules name is made; nullptr for none.
const schema::Table* source_of(std::string_view name) {
    if (const schema::Table* table = schema::find_table(name))
        return table->cadence == schema::Cadence::kPeriodic ? table : nullptr;
    for (const schema::Table* table : schema::gpu_digest_tables())
        if (table->name == name) return &schema::kGpu;
    for (const schema::SeriesTable& series : schema::kSeriesTables)
        if (series.table->name == name) return series.source;
    for (const DerivedTable& derived : derived_tables())
        if (derived.name == name) return derived.source;
    return nullptr;
}

}  // namespace

std::vector<std::string> tables_behind(const std::vector<std::string>& tables) {
    std::vector<std::string> out;
    for (const std::string& table : tables) {
        const schema::Table* source = source_of(table);
        if (source != nullptr && std::ranges::find(out, source->name) == out.end())
            out.emplace_back(source->name);
    }
    return out;
}

std::vector<PreparedTable> prepared_tables() {
    std::vector<PreparedTable> out;
    const auto add = [&](const auto& table) {
        PreparedTable& facts =
            out.emplace_back(PreparedTable{std::string(table.name), std::string(table.doc), {}});
        for (const auto& column : table.columns)
            facts.columns.push_back(
                {std::string(column.name), std::string(column.unit), std::string(column.doc)});
    };
    for (const schema::Table* table : schema::gpu_digest_tables()) add(*table);
    for (const schema::SeriesTable& series : schema::kSeriesTables) add(*series.table);
    for (const DerivedTable& derived : derived_tables()) add(derived);
    return out;
}

}  // namespace belay::findings
