#include "core/csv.h"

#include "core/text.h"
#include "core/utf8.h"

#include <vector>

#include <nlohmann/json.hpp>

namespace belay::core {

namespace {

// OWASP, "CSV Injection"; a number that is written as a text is none.
bool is_formula(const std::string& text) {
    if (text.empty() || std::string_view("=+-@").find(text.front()) == std::string_view::npos) return false;
    return !parse_number<double>(text);
}

std::string text_of_field(const nlohmann::ordered_json& value) {
    if (value.is_null()) return {};
    if (value.is_string()) {
        std::string text = printable(value.get_ref<const std::string&>());
        return is_formula(text) ? "'" + text : text;
    }
    if (!value.is_array()) return value.dump();
    std::vector<std::string> parts;
    for (const auto& part : value) parts.push_back(text_of_field(part));
    return join(parts, "; ");
}

}  // namespace

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char each : text) {
        if (each == '"') quoted += '"';
        quoted += each;
    }
    return quoted + '"';
}

std::string csv_field_of(const nlohmann::ordered_json& value) {
    return csv_field(text_of_field(value));
}

std::string csv_line(std::span<const nlohmann::ordered_json> values) {
    std::vector<std::string> fields;
    for (const auto& value : values) fields.push_back(csv_field_of(value));
    return join(fields, ",") + '\n';
}

}  // namespace belay::core
