#include "record/archive/kept_answers.h"

#include "core/json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

namespace belay::record {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kVersion = 1;
constexpr size_t kMostValues = 100'000;  // of one answer

Json to_json(const Value& value) {
    if (const auto* time = std::get_if<core::Time>(&value)) return {{"time", core::to_nanoseconds(*time)}};
    return std::visit(
        [](const auto& plain) -> Json {
            if constexpr (std::is_constructible_v<Json, decltype(plain)> &&
                          !std::is_same_v<std::decay_t<decltype(plain)>, std::monostate>)
                return plain;
            else
                return nullptr;
        },
        value);
}

// Throws the library's exceptions for what is none of ours.
Value value_from(const Json& json) {
    switch (json.type()) {
        case Json::value_t::null:
            return std::monostate();
        case Json::value_t::boolean:
            return json.get<bool>();
        case Json::value_t::number_float:
            return json.get<double>();
        case Json::value_t::string:
            return json.get<std::string>();
        case Json::value_t::object:
            return core::time_from_nanoseconds(core::integer_from<int64_t>(json.at("time")));
        default:
            return core::integer_from<int64_t>(json);
    }
}

// Throws likewise.
QueryResult answer_from(const Json& json) {
    QueryResult answer{.columns = json.at("columns").get<std::vector<std::string>>(), .rows = {}};
    for (const Json& row : json.at("rows")) {
        if (!row.is_array() || row.size() != answer.columns.size())
            throw Json::other_error::create(501, "not a row of these columns", &row);
        auto& values = answer.rows.emplace_back();
        for (const Json& value : row) values.push_back(value_from(value));
    }
    return answer;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

bool is_worth_keeping(const QueryResult& answer) {
    return answer.rows.size() * answer.columns.size() <= kMostValues &&
           std::ranges::all_of(answer.rows, [](const std::vector<Value>& row) {
               return std::ranges::all_of(row, [](const Value& value) {
                   const auto* number = std::get_if<double>(&value);
                   return number == nullptr || std::isfinite(*number);
               });
           });
}

std::string answers_to_json(const Answers& answers, core::Time sealed) {
    Json list = Json::array();
    for (const auto& [sql, answer] : answers) {
        Json rows = Json::array();
        for (const std::vector<Value>& row : answer.rows) {
            Json values = Json::array();
            for (const Value& value : row) values.push_back(to_json(value));
            rows.push_back(std::move(values));
        }
        list.push_back({{"sql", sql}, {"columns", answer.columns}, {"rows", std::move(rows)}});
    }
    const Json json = {
        {"version", kVersion}, {"sealed", core::to_nanoseconds(sealed)}, {"answers", std::move(list)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Answers answers_from_json(std::string_view text, core::Time sealed) {
    Answers answers;
    try {
        const Json json = core::parse_ordered_json(text);
        if (json.at("version") != kVersion ||
            core::integer_from<int64_t>(json.at("sealed")) != core::to_nanoseconds(sealed))
            return {};
        for (const Json& item : json.at("answers"))
            answers[item.at("sql").get<std::string>()] = answer_from(item);
    } catch (const Json::exception&) {
        return {};
    }
    return answers;
}

bool names_table(std::string_view sql, std::string_view table) {
    for (size_t at = sql.find(table); at != std::string_view::npos; at = sql.find(table, at + 1)) {
        const size_t end = at + table.size();
        if ((at == 0 || !is_word(sql[at - 1])) && (end == sql.size() || !is_word(sql[end]))) return true;
    }
    return false;
}

}  // namespace belay::record
