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

std::string Error::render(std::string_view program) const {
    std::string out = fmt::format("{}: ", program);
    if (position_) {
        out += fmt::format("{}:{}:{}: {}\n", position_->file, position_->line, position_->column, message_);
        if (!position_->line_text.empty()) {
            // The caret's line repeats the tabs of the source line, so that both are displaced alike.
            std::string padding;
            for (int i = 0; i + 1 < position_->column && i < static_cast<int>(position_->line_text.size()); ++i)
                padding += position_->line_text[static_cast<size_t>(i)] == '\t' ? '\t' : ' ';
            out += fmt::format("    {}\n    {}^\n", position_->line_text, padding);
        }
    } else {
        out += fmt::format("{}\n", message_);
    }
    if (!hint_.empty()) out += fmt::format("hint: {}\n", hint_);
    return out;
}

Failure errno_error(int errno_value, std::string_view what) {
    return system_error("{}: {}", what, std::generic_category().message(errno_value));
}

}  // namespace belay::core
