#include "cli/record_json.h"

#include "record/archive/value_json.h"

namespace belay::cli {

using Json = nlohmann::ordered_json;

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
    if (!value) return nullptr;
    if constexpr (std::is_same_v<T, core::Time>)
        return core::format_time(*value);
    else
        return *value;
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

}  // namespace

Json to_json(const record::QueryResult& result) {
    Json rows = Json::array();
    for (const auto& row : result.rows) {
        Json row_json = Json::array();
        for (const record::Value& value : row) row_json.push_back(record::to_json(value));
        rows.push_back(std::move(row_json));
    }
    return {{"columns", result.columns}, {"rows", std::move(rows)}};
}

Json to_json(const record::RecordInfo& info) {
    Json tables = Json::object();
    for (const schema::Table* table : schema::tables()) {
        const record::TableInfo& facts = info.tables.at(std::string(table->name));
        tables[std::string(table->name)] = {{"rows", facts.rows},
                                            {"start", or_null(facts.start)},
                                            {"end", or_null(facts.end)},
                                            {"coverage", or_null(facts.coverage)}};
    }
    Json annexes = Json::array();
    for (const record::AnnexName& annex : info.annexes)
        annexes.push_back({{"owner", annex.owner}, {"table", annex.table->name}});
    return {{"schema", info.manifest.schema},
            {"job", record::job_json(info.manifest.job)},
            {"sealed", info.sealed},
            {"coverage", or_null(info.coverage)},
            {"being_written", info.being_written},
            {"command", info.manifest.command},
            {"software", info.manifest.software},
            {"lost", record::lost_json(info.lost)},
            {"annexes", std::move(annexes)},
            {"tables", std::move(tables)}};
}

Json schema_json() {
    Json tables = Json::object();
    for (const schema::Table* table : schema::tables()) {
        Json columns = Json::array();
        for (const schema::Column& column : table->columns)
            columns.push_back({{"name", std::string(column.name)},
                               {"type", std::string(schema::sql_type(column.type))},
                               {"unit", text_or_null(std::string(column.unit))},
                               {"doc", std::string(column.doc)}});
        tables[std::string(table->name)] = {
            {"doc", std::string(table->doc)}, {"version", table->version}, {"columns", std::move(columns)}};
    }
    return {{"tables", std::move(tables)}};
}

}  // namespace belay::cli
