#include "core/error.h"

#include <system_error>

namespace belay::core {

Error Error::context(std::string_view what) && {
    message_ = fmt::format("{}: {}", what, message_);
    return std::move(*this);
}

Error Error::hint(std::string_view text) && {
    hint_ = text;
    return std::move(*this);
}

Error Error::at(SourcePosition position) && {
    position_ = std::move(position);
    return std::move(*this);
}

namespace {

// What a message quotes may come from anybody's file: it must not move the cursor or forge another line.
std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
    return out;
}

// Blanks up to the column, with the tabs of the source line, so that both are displaced alike; one for each
// character.
std::string caret_padding(const SourcePosition& position) {
    std::string padding;
    for (int i = 0; i + 1 < position.column && i < static_cast<int>(position.line_text.size()); ++i) {
        auto c = static_cast<unsigned char>(position.line_text[static_cast<size_t>(i)]);
        if ((c & 0xC0) != 0x80) padding += c == '\t' ? '\t' : ' ';
    }
    return padding;
}

}  // namespace

std::string Error::render(std::string_view program) const {
    std::string out = fmt::format("{}: ", program);
    if (position_) {
        out += fmt::format("{}:{}:{}: {}\n", printable(position_->file), position_->line, position_->column,
                           printable(message_));
        if (!position_->line_text.empty())
            out +=
                fmt::format("    {}\n    {}^\n", printable(position_->line_text), caret_padding(*position_));
    } else {
        out += fmt::format("{}\n", printable(message_));
    }
    if (!hint_.empty()) out += fmt::format("hint: {}\n", printable(hint_));
    return out;
}

Failure errno_error(int errno_value, std::string_view what) {
    return system_error("{}: {}", what, std::generic_category().message(errno_value));
}

}  // namespace belay::core
