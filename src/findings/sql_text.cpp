#include "findings/sql_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::findings {

namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
}

// Cuts the SQL into what stands as it is and names after "$".
void walk(std::string_view sql, const std::function<void(std::string_view text)>& plain,
          const std::function<void(std::string_view name)>& name) {
    bool in_text = false;
    size_t from = 0;
    for (size_t at = 0; at < sql.size(); ++at) {
        if (sql[at] == '\'') in_text = !in_text;
        if (in_text || sql[at] != '$' || at + 1 >= sql.size() || !is_letter(sql[at + 1])) continue;
        size_t end = at + 1;
        while (end < sql.size() && is_name(sql[end])) ++end;
        plain(sql.substr(from, at - from));
        name(sql.substr(at + 1, end - at - 1));
        from = end;
        at = end - 1;
    }
    plain(sql.substr(from));
}

}  // namespace

std::vector<std::string> names_in(std::string_view sql) {
    std::vector<std::string> names;
    walk(
        sql, [](std::string_view) {},
        [&](std::string_view name) {
            if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        });
    return names;
}

std::string substitute(std::string_view sql,
                       const std::function<std::optional<std::string>(std::string_view)>& value_of) {
    std::string out;
    walk(
        sql, [&](std::string_view text) { out += text; },
        [&](std::string_view name) {
            auto value = value_of(name);
            out += value ? *value : "$" + std::string(name);
        });
    return out;
}

std::string number_literal(double value) {
    // A literal with a point is a DECIMAL in DuckDB, with an exponent a DOUBLE.
    return fmt::format("({})::DOUBLE", value);
}

std::string time_literal(int64_t microseconds) {
    return fmt::format("make_timestamp({})", microseconds);
}

}  // namespace belay::findings
