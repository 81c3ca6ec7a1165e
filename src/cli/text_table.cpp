#include "cli/text_table.h"

#include "core/help.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::cli {

namespace {

// Beside a cell that is wider, others are not filled up: spaces are not what anybody asked for.
constexpr size_t kWidestColumn = 200;

constexpr size_t kNarrowestLast = 20;

bool is_number(const std::string& text) {
    return text.empty() || core::parse_number<double>(text).has_value();
}

}  // namespace

std::string render_table(std::vector<std::string> header, std::vector<std::vector<std::string>> rows,
                         size_t columns) {
    if (header.empty()) return "";
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
    size_t before_last = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + 2;
    // Where hardly anything would stand on a line, the terminal does better.
    const bool wraps =
        !right.back() && before_last + widths.back() > columns && before_last + kNarrowestLast <= columns;
    if (wraps) widths.back() = columns - before_last;
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
    for (size_t width : widths) rule.emplace_back(width, '-');
    add_line(rule);
    for (auto& row : rows) {
        std::vector<std::string> last = {row[header.size() - 1]};
        if (wraps) last = core::wrap(last[0], widths.back());
        for (size_t i = 0; i < std::max<size_t>(1, last.size()); ++i) {
            if (i > 0) row.assign(header.size(), "");
            row[header.size() - 1] = i < last.size() ? last[i] : "";
            add_line(row);
        }
    }
    return out;
}

}  // namespace belay::cli
