#include "core/error.h"

#include "core/utf8.h"

#include <algorithm>
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

// Blanks up to the column; one for each character of the line as it is shown.
std::string caret_padding(const SourcePosition& position) {
    size_t before = static_cast<size_t>(std::max(position.column - 1, 0));
    return std::string(columns_of(printable(std::string_view(position.line_text).substr(0, before))), ' ');
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
