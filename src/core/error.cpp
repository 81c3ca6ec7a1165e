#include "core/error.h"

#include "core/utf8.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace belay::core {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

Error Error::context(std::string_view what) && {
    message_ = fmt::format("{}: {}", what, message_);
    return std::move(*this);
}

Error Error::after(std::string_view more) && {
    message_ += more;
    return std::move(*this);
}

Error Error::also(const Error& second) && {
    message_ += "; " + second.headline();
    if (hint_.empty()) hint_ = second.hint_;
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

Error Error::because(Cause cause) && {
    cause_ = cause;
    return std::move(*this);
}

Error Error::as(ErrorKind kind) && {
    kind_ = kind;
    return std::move(*this);
}

Error Error::because_of_errno(int errno_value) && {
    errno_value_ = errno_value;
    cause_ = cause_of_errno(errno_value);
    return std::move(*this);
}

Failure::Failure(Error error) : error_(std::move(error)) {}
Failure::Failure(ErrorKind kind, fmt::string_view format, fmt::format_args args)
    : error_(kind, fmt::vformat(format, args)) {}
Failure Failure::hint(std::string_view text) && {
    return Failure(std::move(error_).hint(text));
}
Failure Failure::at(SourcePosition position) && {
    return Failure(std::move(error_).at(std::move(position)));
}
Failure Failure::because(Cause cause) && {
    return Failure(std::move(error_).because(cause));
}
Failure Failure::because_of_errno(int errno_value) && {
    return Failure(std::move(error_).because_of_errno(errno_value));
}

std::string_view cause_name(Cause cause) {
    switch (cause) {
        case Cause::kOther:
            return "other";
        case Cause::kNotFound:
            return "not found";
        case Cause::kDenied:
            return "denied";
        case Cause::kNoSpace:
            return "no space";
        case Cause::kTimedOut:
            return "timed out";
        case Cause::kUnreachable:
            return "unreachable";
        case Cause::kCancelled:
            return "cancelled";
        case Cause::kEnded:
            return "ended";
    }
    return "other";
}

Cause cause_of_errno(int errno_value) {
    struct Row {
        int errno_value;
        Cause cause;
    };
    static constexpr Row kRows[] = {
        {ENOENT, Cause::kNotFound},
        {ENOTDIR, Cause::kNotFound},
        {ENODEV, Cause::kNotFound},
        {ENXIO, Cause::kNotFound},
        {ESRCH, Cause::kNotFound},
        {EACCES, Cause::kDenied},
        {EPERM, Cause::kDenied},
        {EROFS, Cause::kDenied},
        {ENOSPC, Cause::kNoSpace},
        {EDQUOT, Cause::kNoSpace},
        {ETIMEDOUT, Cause::kTimedOut},
        {ECONNREFUSED, Cause::kUnreachable},
        {ECONNRESET, Cause::kUnreachable},
        {EHOSTUNREACH, Cause::kUnreachable},
        {EHOSTDOWN, Cause::kUnreachable},
        {ENETUNREACH, Cause::kUnreachable},
        {ENETDOWN, Cause::kUnreachable},
        {ENOTCONN, Cause::kUnreachable},
        {EPIPE, Cause::kEnded},
        {ECHILD, Cause::kEnded},
        {ECANCELED, Cause::kCancelled},
    };
    for (const Row& row : kRows)
        if (row.errno_value == errno_value) return row.cause;
    return Cause::kOther;
}

namespace {

constexpr size_t kLongestShown = 200;  // bytes of a line around the place

// Never within a character.
size_t character_at(std::string_view line, size_t byte) {
    return utf8_prefix(line, byte).size();
}

}  // namespace

MarkedLine mark_line(const SourcePosition& position, size_t length) {
    std::string_view line = position.line_text;
    size_t column = std::min(static_cast<size_t>(std::max(position.column - 1, 0)), line.size());
    size_t begin = 0, end = line.size();
    if (line.size() > kLongestShown) {
        begin = std::min(column - std::min(column, kLongestShown / 2), line.size() - kLongestShown);
        begin = character_at(line, begin);
        end = character_at(line, begin + kLongestShown);
    }
    std::string before = begin > 0 ? "…" : "";
    before += printable(line.substr(begin, column - begin));
    std::string marked = printable(line.substr(column, std::min(length, end - column)));
    std::string rest = printable(line.substr(column, end - column));
    size_t columns = std::max<size_t>(columns_of(marked), 1);
    return {before + rest + (end < line.size() ? "…" : ""),
            std::string(columns_of(before), ' ') + "^" + std::string(columns - 1, '~')};
}

std::string Error::headline() const {
    if (!position_) return message_;
    return fmt::format("{}:{}:{}: {}", position_->file, position_->line, position_->column, message_);
}

std::string Error::render(std::string_view program) const {
    std::string out = fmt::format("{}: {}\n", program, printable(headline()));
    if (position_ && !position_->line_text.empty()) {
        auto [line, mark] = mark_line(*position_);
        out += fmt::format("    {}\n    {}\n", line, mark);
    }
    std::string_view hint = hint_;
    if (hint.empty() && cause_ == Cause::kNoSpace)
        hint = "free space there, or ask for a larger quota, and try again";
    if (!hint.empty()) out += fmt::format("hint: {}\n", printable(hint));
    return out;
}

Failure errno_error(int errno_value, std::string_view what) {
    return system_error("{}: {}", what, std::generic_category().message(errno_value))
        .because_of_errno(errno_value);
}

Failure errno_error(const std::error_code& code, std::string_view what) {
    // On Linux both categories count in errno.
    bool is_errno = code.category() == std::generic_category() || code.category() == std::system_category();
    if (is_errno) return errno_error(code.value(), what);
    return system_error("{}: {}", what, code.message());
}

}  // namespace belay::core
