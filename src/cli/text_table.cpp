#include "cli/text_table.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::cli {

namespace {

// Beside a cell that is wider, others are not filled up: spaces are not what anybody asked for.
constexpr size_t kWidestColumn = 200;

bool is_number(const std::string& text) {
    return text.empty() || core::parse_number<double>(text).has_value();
}

}  // namespace

std::string render_table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows) {
    for (std::string& name : header) name = core::printable(name);
    for (auto& row : rows)
        for (std::string& cell : row) cell = core::printable(cell);
    std::vector<size_t> widths;
    std::vector<bool> right(header.size(), true);
    for (const std::string& name : header) widths.push_back(core::columns_of(name));
    for (const auto& row : rows)
        for (size_t i = 0; i < header.size(); ++i) {
            widths[i] = std::max(widths[i], std::min(core::columns_of(row[i]), kWidestColumn));
            right[i] = right[i] && is_number(row[i]);
        }
    std::string out;
    auto add_line = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (size_t i = 0; i < header.size(); ++i) {
            std::string padding(widths[i] - std::min(widths[i], core::columns_of(cells[i])), ' ');
            line += (i > 0 ? "  " : "") + (right[i] ? padding + cells[i] : cells[i] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    };
    add_line(header);
    std::vector<std::string> rule;
    for (size_t columns : widths) rule.emplace_back(columns, '-');
    add_line(rule);
    for (const auto& row : rows) add_line(row);
    return out;
}

}  // namespace belay::cli
