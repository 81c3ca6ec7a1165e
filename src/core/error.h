// Errors are values. A function that can fail returns Result<T>; no exception crosses a module boundary.
//
//   Result<Config> load(path) {
//       BELAY_TRY(text, read_file(path));              // returns the error on, or binds `text`
//       if (text.empty()) return bad_input("{} is empty", path).hint("write at least one key");
//       ...
//   }
//
// An error has a kind (whose fault it is, and so the exit status), a cause (what programs decide by), a
// message and a hint (for people) and, for a text, the place. It travels whole between processes and nodes:
// core/error_codec.h.
//
// A message is one line "WHAT: WHY". Whoever passes an error up may add what was being done with
// `.context(...)`.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace belay::core {

// Every kind is one exit status of the commands (docs/commands.md).
enum class ErrorKind {
    kNegative = 1,      // the answer is no: a verdict, a failed check
    kBadInput = 2,      // what the person wrote is wrong
    kSystem = 3,        // the machine or another program failed
    kStoppedEarly = 4,  // a command ended before the end because the outcome was certain
};

// Why something failed, for programs to decide by: what to try again, which hint to give. A message is for
// people only; nothing may be decided by its text (the test architecture.decisions looks for that).
enum class Cause : uint8_t {
    kOther = 0,
    kNotFound,     // a file, program, host or record is not there
    kDenied,       // permissions, or a policy
    kNoSpace,      // a file system or a quota is full
    kTimedOut,     // no answer within the time that was allowed
    kUnreachable,  // another machine or server cannot be talked to
    kCancelled,    // somebody asked for the end
    kEnded,        // another process ended without an answer
};

inline constexpr Cause kLastCause = Cause::kEnded;

// "timed out": for messages and JSON.
std::string_view cause_name(Cause cause);
// What an errno means here; kOther where it says nothing of the above.
Cause cause_of_errno(int errno_value);

// A line of a text that it shares with other places: thousands of them may stand on one long line.
class SourceLine {
  public:
    SourceLine() = default;
    SourceLine(std::string line)  // NOLINT(google-explicit-constructor): a text of its own
        : text_(std::make_shared<const std::string>(std::move(line))), line_(*text_) {}
    SourceLine(const char* line) : SourceLine(std::string(line)) {}  // NOLINT(google-explicit-constructor)
    SourceLine(std::shared_ptr<const std::string> text, std::string_view line)
        : text_(std::move(text)), line_(line) {}
    operator std::string_view() const { return line_; }  // NOLINT(google-explicit-constructor): what it is
    bool empty() const { return line_.empty(); }
    size_t size() const { return line_.size(); }

  private:
    std::shared_ptr<const std::string> text_;
    std::string_view line_;
};

// A place in a text that a person wrote. Lines and columns count from 1; columns count bytes.
struct SourcePosition {
    std::string file;
    int line = 0;
    int column = 0;
    SourceLine line_text;  // the whole line, for the caret; may be empty
    bool operator==(const SourcePosition& other) const {
        return file == other.file && line == other.line && column == other.column &&
               std::string_view(line_text) == std::string_view(other.line_text);
    }
};

// The line as people see it, of a long one what stands around the column, and below it a caret and tildes
// under `length` bytes.
struct MarkedLine {
    std::string line;
    std::string mark;
};
MarkedLine mark_line(const SourcePosition& position, size_t length = 1);

class Error {
  public:
    Error(ErrorKind kind, std::string message);
    // In one place: every BELAY_TRY moves and destroys one, and inlining that costs the compiler 7 % of its
    // work.
    Error(const Error& other);
    Error(Error&& other) noexcept;
    Error& operator=(const Error& other);
    Error& operator=(Error&& other) noexcept;
    ~Error();

    // Puts "what: " before the message: what the caller was doing when this happened.
    Error context(std::string_view what) &&;
    // Puts more at the end of the message: what is known of the circumstances.
    Error after(std::string_view more) &&;
    // Another failure on the way out of this one, "; SECOND" at the end of the message, its hint where this
    // has none. Kind and cause stay those of the first.
    Error also(const Error& second) &&;
    // What to do about it, shown on a line of its own.
    Error hint(std::string_view text) &&;
    Error at(SourcePosition position) &&;
    Error because(Cause cause) &&;
    // The same failure as somebody else's fault: a file that is not there is the person's where they named
    // it.
    Error as(ErrorKind kind) &&;
    // The cause that the number stands for; the message stays as it is.
    Error because_of_errno(int errno_value) &&;

    ErrorKind kind() const { return kind_; }
    int exit_status() const { return static_cast<int>(kind_); }
    Cause cause() const { return cause_; }
    int errno_value() const { return errno_value_; }  // 0 where no system call failed
    const std::string& message() const { return message_; }
    const std::string& hint_text() const { return hint_; }
    const std::optional<SourcePosition>& position() const { return position_; }

    // The message behind its place, where it has one: "env.toml:5:12: unknown key "mount"". For what goes on
    // and says what happened; may hold control characters of other people's files.
    std::string headline() const;
    // "belay: MESSAGE\n", then the source line with a caret and the hint where there are any:
    //     belay: env.toml:5:12: unknown key "mount"
    //         mount = ["/a:/b"]
    //         ^
    //     hint: did you mean "mounts"?
    std::string render(std::string_view program = "belay") const;

    bool operator==(const Error&) const = default;

  private:
    ErrorKind kind_;
    Cause cause_ = Cause::kOther;
    int errno_value_ = 0;
    std::string message_;
    std::string hint_;
    std::optional<SourcePosition> position_;
};

template <typename T = void>
using Result = std::expected<T, Error>;

// Lets `return bad_input(...)` and `return bad_input(...).hint(...)` stand where a Result<T> is returned.
class Failure {
  public:
    explicit Failure(Error error);
    Failure(ErrorKind kind, fmt::string_view format, fmt::format_args args);
    Failure hint(std::string_view text) &&;
    Failure at(SourcePosition position) &&;
    Failure because(Cause cause) &&;
    Failure because_of_errno(int errno_value) &&;
    template <typename T>
    operator std::expected<T, Error>() && {  // NOLINT(google-explicit-constructor): that is its purpose
        return std::unexpected(std::move(error_));
    }
    Error error() && { return std::move(error_); }

  private:
    Error error_;
};

template <typename... Args>
Failure negative(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::kNegative, format, fmt::make_format_args(args...)};
}
template <typename... Args>
Failure bad_input(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::kBadInput, format, fmt::make_format_args(args...)};
}
template <typename... Args>
Failure system_error(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::kSystem, format, fmt::make_format_args(args...)};
}
// A failed system call: "WHAT: strerror(errno_value)", with its cause.
Failure errno_error(int errno_value, std::string_view what);
// The same for what the standard library tells (std::filesystem).
Failure errno_error(const std::error_code& code, std::string_view what);

// Adds context to the error of a result, if it has one.
template <typename T>
Result<T> with_context(Result<T> result, std::string_view what) {
    if (!result) return std::unexpected(std::move(result.error()).context(what));
    return result;
}

}  // namespace belay::core

#define BELAY_CONCAT_INNER(a, b) a##b
#define BELAY_CONCAT(a, b) BELAY_CONCAT_INNER(a, b)
#define BELAY_TRY_INNER(result, name, expression)                   \
    auto result = (expression);                                     \
    if (!result) return std::unexpected(std::move(result.error())); \
    auto name = std::move(*result)
// Binds the value of a Result to a new variable, or returns its error from the enclosing function.
#define BELAY_TRY(name, expression) BELAY_TRY_INNER(BELAY_CONCAT(belay_result_, __LINE__), name, expression)
// For a Result<void>, or where the value is not wanted.
#define BELAY_CHECK(expression)                                      \
    do {                                                             \
        if (auto belay_result = (expression); !belay_result)         \
            return std::unexpected(std::move(belay_result.error())); \
    } while (false)
