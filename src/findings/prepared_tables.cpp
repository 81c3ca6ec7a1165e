#include "findings/prepared_tables.h"

#include "findings/derived_tables.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/node_series.h"

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
    for (const schema::Table* table : schema::gpu_digest_tables()) {
        PreparedTable& facts =
            out.emplace_back(PreparedTable{std::string(table->name), std::string(table->doc), {}});
        for (const schema::Column& column : table->columns)
            facts.columns.push_back(
                {std::string(column.name), std::string(column.unit), std::string(column.doc)});
    }
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        PreparedTable& facts = out.emplace_back(
            PreparedTable{std::string(series.table->name), std::string(series.table->doc), {}});
        for (const schema::SampledSeries& column : series.columns)
            facts.columns.push_back({std::string(column.series.name), std::string(column.series.unit),
                                     std::string(column.series.doc)});
    }
    for (const DerivedTable& derived : derived_tables())
        out.push_back({std::string(derived.name), std::string(derived.doc), {}});
    return out;
}

}  // namespace belay::findings
