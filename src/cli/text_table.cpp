#include "cli/text_table.h"

#include "core/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::cli {

namespace {

size_t width(const std::string& text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(const std::string& text) {
    return text.empty() || core::parse_number<double>(text).has_value();
}

}  // namespace

std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    std::vector<bool> right(header.size(), true);
    for (const std::string& name : header) widths.push_back(width(name));
    for (const auto& row : rows)
        for (size_t i = 0; i < header.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
            right[i] = right[i] && is_number(row[i]);
        }
    std::string out;
    auto add_line = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (size_t i = 0; i < header.size(); ++i) {
            std::string padding(widths[i] - width(cells[i]), ' ');
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
