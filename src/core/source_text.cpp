#include "core/source_text.h"

#include <algorithm>

namespace belay::core {

namespace {

constexpr size_t kCharactersPerMark = 64;

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

SourceText::SourceText(std::string_view text, std::string file)
    : file_(std::move(file)), text_(std::make_shared<const std::string>(text)) {
    size_t characters = 0;
    lines_.push_back({0, 0});
    for (size_t i = 0; i < text.size(); ++i) {
        if (begins_character(text[i]) && characters++ % kCharactersPerMark == 0) marks_.push_back(i);
        if (text[i] == '\n') lines_.push_back({i + 1, characters});
    }
}

std::string_view SourceText::line_text(int line) const {
    auto index = static_cast<size_t>(line - 1);
    bool last = index + 1 == lines_.size();
    std::string_view text =
        this->text().substr(0, last ? std::string_view::npos : lines_[index + 1].begin - 1);
    text.remove_prefix(lines_[index].begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

SourcePosition SourceText::at(int line, int column) const {
    if (!has(line)) return {file_, line, 1, {}};
    std::string_view text = line_text(line);
    return {file_, line, std::clamp(column, 1, static_cast<int>(text.size()) + 1), {text_, text}};
}

SourcePosition SourceText::at_character(int line, int column) const {
    if (!has(line)) return {file_, line, 1, {}};
    const Line& start = lines_[static_cast<size_t>(line - 1)];
    size_t wanted = start.characters + static_cast<size_t>(std::max(column - 1, 0));
    size_t mark = wanted / kCharactersPerMark;
    std::string_view text = this->text();
    if (mark >= marks_.size()) return at(line, static_cast<int>(line_text(line).size()) + 1);
    size_t byte = marks_[mark];
    for (size_t passed = wanted % kCharactersPerMark; passed > 0 && byte < text.size(); --passed) do
            ++byte;
        while (byte < text.size() && !begins_character(text[byte]));
    return at(line, static_cast<int>(byte - std::min(byte, start.begin)) + 1);
}

SourcePosition SourceText::at_offset(size_t offset) const {
    auto next = std::ranges::upper_bound(lines_, offset, {}, &Line::begin);
    return at(static_cast<int>(next - lines_.begin()), static_cast<int>(offset - std::prev(next)->begin) + 1);
}

}  // namespace belay::core
