// What a parameter is and a column holds: null, a whole number, a floating-point number, text or bytes.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::database {

using Null = std::monostate;

struct Bytes {
    Bytes() = default;
    explicit Bytes(std::string bytes) : data(std::move(bytes)) {}
    std::string data;
    bool operator==(const Bytes&) const = default;
};

// Text is valid UTF-8 without NUL, which PostgreSQL cannot store; anything else goes as bytes. A truth is 0 or 1.
using Value = std::variant<Null, int64_t, double, std::string, Bytes>;
using Values = std::vector<Value>;

// Bytes of one text or blob, and of all parameters of a statement.
inline constexpr size_t kLongestValue = size_t{64} << 20;
inline constexpr size_t kMostParameterBytes = size_t{256} << 20;

template <typename T>
Value or_null(std::optional<T> value) {
    return value ? Value(std::move(*value)) : Value();
}

// Whether both engines take the values, as many as the statement has parameters. Errors: kBadInput, with the number of the
// parameter: text with a NUL or that is not UTF-8, NaN (which SQLite makes null), a value that is too long.
core::Result<> check_parameters(const Values& values, size_t parameters);

// Whether the text is what check_parameters takes; else at which byte it is not.
std::optional<size_t> first_bad_byte(std::string_view text);

// One row of an answer. The getters give nothing for null, for a value of another type, and beyond the last column.
class Row {
  public:
    Row() = default;
    explicit Row(Values values) : values_(std::move(values)) {}

    size_t size() const { return values_.size(); }
    const Value& at(size_t column) const;  // null beyond the last column
    std::optional<int64_t> integer(size_t column) const;
    std::optional<double> number(size_t column) const;  // also of a whole number
    std::optional<std::string> text(size_t column) const;
    std::optional<std::string> bytes(size_t column) const;
    // Whether it is a whole number other than 0.
    bool truth(size_t column) const { return integer(column).value_or(0) != 0; }

    // To be filled anew.
    Values& values() { return values_; }

  private:
    Values values_;
};

}  // namespace belay::database
