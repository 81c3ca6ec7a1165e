// A JSON value as Python's json module makes it of a text, with Python's comparisons: the rules of MLPerf are
// Python expressions, and a verdict depends on what they make of true, NaN or a text in the place of a number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::bench {

struct PythonMember;

// A view: texts, items and members lie in the text that was read or in a reader's arena. Trivially copied.
class PythonValue {
  public:
    enum class Kind : uint8_t { kNone, kBool, kInteger, kBigInteger, kFloat, kText, kList, kDict };

    PythonValue() = default;  // None
    static PythonValue boolean(bool value);
    static PythonValue integer(int64_t value);
    static PythonValue big_integer(
        std::string_view digits);  // outside of 64 bits, "-" before it where negative
    static PythonValue number(double value);
    static PythonValue text(std::string_view utf8);  // lone surrogates as three bytes, so that they differ
    static PythonValue list(std::span<const PythonValue> items);
    static PythonValue dict(std::span<const PythonMember> members);  // no name twice

    Kind kind() const { return kind_; }
    bool is_text() const { return kind_ == Kind::kText; }
    // Of the kind that has it; else 0, "" or nothing.
    int64_t integer() const { return integer_; }  // of a bool: 0 or 1
    double number() const { return number_; }
    std::string_view text() const;  // also the digits of a big integer
    std::span<const PythonValue> items() const;
    std::span<const PythonMember> members() const;
    const PythonValue* member(std::string_view name) const;  // null where there is none

  private:
    Kind kind_ = Kind::kNone;
    union {
        int64_t integer_ = 0;
        double number_;
        size_t size_;
    };
    const void* data_ = nullptr;
};

struct PythonMember {
    std::string_view name;
    PythonValue value;
};

// `value < constant` and so on. Nothing where Python raises TypeError; unordered with NaN. Integers are compared
// exactly, of any size.
std::optional<std::partial_ordering> compare(const PythonValue& value, double constant);
// `value == constant`: never raises; true equals 1.
bool equals(const PythonValue& value, double constant);
bool equals(const PythonValue& value, std::string_view constant);
// As elements of a list are compared (list.count): what is the same object counts as equal, and all NaN of
// Python's JSON reader are one object.
bool same(const PythonValue& left, const PythonValue& right);
bool is_true(const PythonValue& value);
// len(value), in characters of a text; nothing where Python raises.
std::optional<size_t> length(const PythonValue& value);
// `name in value`: a member of a dict, an element of a list, a part of a text; nothing where Python raises.
std::optional<bool> contains(const PythonValue& value, std::string_view name);
// float(value) of a number or bool; nothing where Python raises, also for an integer that is too large.
std::optional<double> to_float(const PythonValue& value);
// float(text): blanks around it and "_" between digits are allowed, "nan" and "inf" are numbers. Nothing where
// Python raises, and for digits that are not ASCII, which Python accepts.
std::optional<double> float_of_text(std::string_view text);
// Any number of JSON's, also of more digits or a larger exponent than a double has: inf or 0 beyond its range.
double rounded_number(const std::string& digits);
// math.isclose(value, constant): a relative difference of at most 1e-9; nothing where Python raises.
std::optional<bool> is_close(const PythonValue& value, double constant);
// As JSON, for a message: at most about 80 characters.
std::string shown(const PythonValue& value);

}  // namespace belay::bench
