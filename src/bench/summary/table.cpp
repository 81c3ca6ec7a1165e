#include "bench/summary/table.h"

#include "core/csv.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& value) {
    return core::to_valid_utf8(value);
}
Json text_or_null(const std::string& value) {
    return value.empty() ? Json() : text(value);
}
template <typename Number>
Json number(const std::optional<Number>& value) {
    return value ? Json(*value) : Json();
}
Json texts(const std::vector<std::string>& values) {
    Json all = Json::array();
    for (const std::string& value : values) all.push_back(text(value));
    return all;
}
// JSON has no number for what is not finite, and so null.
Json finite(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
}
Json extrapolation_of(const SummaryRow& row) {
    if (!row.extrapolation) return {};
    return Json{{"official", false},
                {"accelerators", row.extrapolation->accelerators},
                {"models", row.extrapolation->models},
                {"models_per_day", row.extrapolation->models_per_day}};
}

// The first ten are the command's contract; what comes after them may grow.
constexpr SummaryColumn kColumns[] = {
    {"submitter", true, "submitter", [](const SummaryRow& row) { return text(row.submitter); }},
    {"system", true, "system", [](const SummaryRow& row) { return text(row.system); }},
    {"benchmark", true, "benchmark", [](const SummaryRow& row) { return text_or_null(row.benchmark); }},
    {"mode", true, "mode", [](const SummaryRow& row) { return text_or_null(row.mode); }},
    {"division", true, "division", [](const SummaryRow& row) { return text_or_null(row.division); }},
    {"score_minutes", true, "minutes", [](const SummaryRow& row) { return finite(row.score_minutes); }},
    {"rcp", true, "RCP", [](const SummaryRow& row) { return text(row.rcp); }},
    {"scaling", true, "factor", [](const SummaryRow& row) { return finite(row.scaling); }},
    {"models", true, "models", [](const SummaryRow& row) { return number(row.models); }},
    {"accelerators_per_model", true, "of each",
     [](const SummaryRow& row) { return finite(row.accelerators_per_model); }},
    {"accelerators", true, "accelerators", [](const SummaryRow& row) { return finite(row.accelerators); }},
    {"logs", true, "logs", [](const SummaryRow& row) { return Json(row.logs); }},
    {"failed_logs", true, "failed", [](const SummaryRow& row) { return Json(row.failed_logs); }},
    {"required_logs", false, "required", [](const SummaryRow& row) { return Json(row.required_logs); }},
    {"minutes_with_staging", true, "with staging",
     [](const SummaryRow& row) { return finite(row.minutes_with_staging); }},
    {"minutes_without_staging", true, "without",
     [](const SummaryRow& row) { return finite(row.minutes_without_staging); }},
    {"global_batch_size", false, "batch", [](const SummaryRow& row) { return finite(row.batch); }},
    {"epochs", false, "epochs", [](const SummaryRow& row) { return finite(row.epochs); }},
    {"reference_epochs", false, "reference",
     [](const SummaryRow& row) { return finite(row.reference_epochs); }},
    {"smallest_epochs", false, "smallest", [](const SummaryRow& row) { return finite(row.smallest_epochs); }},
    {"rcp_message", false, "RCP test", [](const SummaryRow& row) { return text_or_null(row.rcp_message); }},
    {"models_per_day", false, "models a day",
     [](const SummaryRow& row) { return finite(row.models_per_day); }},
    {"extrapolation", false, "extrapolation (not official)", extrapolation_of},
    {"path", false, "path", [](const SummaryRow& row) { return text_or_null(row.path); }},
    {"errors", false, "errors", [](const SummaryRow& row) { return texts(row.errors); }},
    {"warnings", false, "warnings", [](const SummaryRow& row) { return texts(row.warnings); }},
};

// In a cell a "|" would end it, and elsewhere these would be markup.
std::string markdown_text(std::string_view text) {
    std::string escaped;
    for (char each : core::printable(text)) {
        if (std::string_view("\\`*_{}[]<>#|").find(each) != std::string_view::npos) escaped += '\\';
        escaped += each;
    }
    return escaped;
}

std::string list_of(std::span<const SummaryRow> rows, std::string_view title,
                    std::vector<std::string> SummaryRow::* messages) {
    std::string text;
    for (const SummaryRow& row : rows)
        for (const std::string& message : row.*messages)
            text += fmt::format("- {}: {}\n", markdown_text(row_title(row)), markdown_text(message));
    return text.empty() ? text : fmt::format("\n**{}**\n\n{}", title, text);
}

std::string extrapolations_of(std::span<const SummaryRow> rows) {
    std::string text;
    for (const SummaryRow& row : rows)
        if (row.extrapolation)
            text += fmt::format("- {}: {:.1f} models a day on {:g} accelerators, {:g} side by side\n",
                                markdown_text(row_title(row)), row.extrapolation->models_per_day,
                                row.extrapolation->accelerators, row.extrapolation->models);
    return text.empty() ? text : fmt::format("\n**Extrapolated, not official**\n\n{}", text);
}

}  // namespace

std::span<const SummaryColumn> summary_columns() {
    return kColumns;
}

Json to_json(std::span<const SummaryRow> rows) {
    Json all = Json::array();
    for (const SummaryRow& row : rows) {
        Json object = Json::object();
        for (const SummaryColumn& column : kColumns) object[std::string(column.name)] = column.value(row);
        all.push_back(std::move(object));
    }
    return all;
}

std::string to_csv(std::span<const SummaryRow> rows) {
    std::vector<Json> fields;
    for (const SummaryColumn& column : kColumns) fields.emplace_back(std::string(column.name));
    std::string csv = core::csv_line(fields);
    for (const SummaryRow& row : rows) {
        fields.clear();
        for (const SummaryColumn& column : kColumns) fields.push_back(column.value(row));
        csv += core::csv_line(fields);
    }
    return csv;
}

std::string cell_text(const Json& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return core::printable(value.get_ref<const std::string&>());
    if (!value.is_number_float()) return value.dump();
    std::string digits = fmt::format("{:.4f}", value.get<double>());
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
}

std::string to_markdown(std::span<const SummaryRow> rows) {
    std::string table = "|", line = "|";
    for (const SummaryColumn& column : kColumns) {
        if (!column.in_markdown) continue;
        table += fmt::format(" {} |", column.heading);
        line += " --- |";
    }
    table += '\n' + line + '\n';
    for (const SummaryRow& row : rows) {
        table += '|';
        for (const SummaryColumn& column : kColumns)
            if (column.in_markdown)
                table += fmt::format(" {} |", markdown_text(cell_text(column.value(row))));
        table += '\n';
    }
    return table + extrapolations_of(rows) + list_of(rows, "Errors", &SummaryRow::errors) +
           list_of(rows, "Warnings", &SummaryRow::warnings);
}

std::string row_title(const SummaryRow& row) {
    std::vector<std::string> parts;
    for (const std::string* part : {&row.submitter, &row.system, &row.benchmark, &row.mode})
        if (!part->empty()) parts.push_back(*part);
    return parts.empty() ? "the package" : core::join(parts, ", ");
}

}  // namespace belay::bench
