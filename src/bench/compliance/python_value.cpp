#include "bench/compliance/python_value.h"

#include "core/python_json.h"
#include "core/utf8.h"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <locale.h>
#include <vector>

#include <fmt/format.h>

namespace belay::bench {

namespace {

using Kind = PythonValue::Kind;

constexpr size_t kShownCharacters = 80;

bool is_whole(const PythonValue& value) {
    return value.kind() == Kind::kBool || value.kind() == Kind::kInteger;
}
bool is_number(const PythonValue& value) {
    return is_whole(value) || value.kind() == Kind::kBigInteger || value.kind() == Kind::kFloat;
}

// Exact, though a double has fewer digits than an int64_t: the integer part decides, then the fraction.
std::partial_ordering compare_exactly(int64_t integer, double number) {
    if (std::isnan(number)) return std::partial_ordering::unordered;
    if (number >= 0x1p63) return std::partial_ordering::less;
    if (number < -0x1p63) return std::partial_ordering::greater;
    const double whole = std::floor(number);
    if (const auto order = integer <=> static_cast<int64_t>(whole); order != 0) return order;
    return whole < number ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

// A big integer against a double: their exact decimal digits.
bool equals_big(std::string_view digits, double number) {
    if (!std::isfinite(number) || number != std::floor(number)) return false;
    return fmt::format("{:.0f}", number) == digits;
}

bool same_numbers(const PythonValue& left, const PythonValue& right) {
    if (left.kind() == Kind::kFloat && right.kind() == Kind::kFloat)
        return left.number() == right.number() || (std::isnan(left.number()) && std::isnan(right.number()));
    if (left.kind() == Kind::kFloat) return same_numbers(right, left);
    if (left.kind() == Kind::kBigInteger) {
        if (right.kind() == Kind::kFloat) return equals_big(left.text(), right.number());
        return right.kind() == Kind::kBigInteger && left.text() == right.text();
    }
    if (right.kind() == Kind::kBigInteger) return false;
    if (right.kind() == Kind::kFloat) return compare_exactly(left.integer(), right.number()) == 0;
    return left.integer() == right.integer();
}

void show(std::string& out, const PythonValue& value, int depth) {
    if (out.size() > kShownCharacters) return;
    if (depth > 3) {
        out += "...";
        return;
    }
    switch (value.kind()) {
        case Kind::kNone:
            out += "null";
            break;
        case Kind::kBool:
            out += value.integer() != 0 ? "true" : "false";
            break;
        case Kind::kInteger:
            out += fmt::to_string(value.integer());
            break;
        case Kind::kFloat:
            out += core::write_python_float(value.number());
            break;
        case Kind::kBigInteger:
            out += value.text().substr(0, kShownCharacters);
            break;
        case Kind::kText:
            out += fmt::format(
                "\"{}\"", core::printable(core::to_valid_utf8(value.text().substr(0, kShownCharacters))));
            break;
        case Kind::kList:
            out += '[';
            for (const PythonValue& item : value.items()) {
                if (out.size() > kShownCharacters) break;
                if (&item != value.items().data()) out += ", ";
                show(out, item, depth + 1);
            }
            out += ']';
            break;
        case Kind::kDict:
            out += '{';
            for (const PythonMember& member : value.members()) {
                if (out.size() > kShownCharacters) break;
                if (&member != value.members().data()) out += ", ";
                show(out, PythonValue::text(member.name), depth + 1);
                out += ": ";
                show(out, member.value, depth + 1);
            }
            out += '}';
    }
}

}  // namespace

PythonValue PythonValue::boolean(bool value) {
    PythonValue made;
    made.kind_ = Kind::kBool;
    made.integer_ = value ? 1 : 0;
    return made;
}

PythonValue PythonValue::integer(int64_t value) {
    PythonValue made;
    made.kind_ = Kind::kInteger;
    made.integer_ = value;
    return made;
}

PythonValue PythonValue::number(double value) {
    PythonValue made;
    made.kind_ = Kind::kFloat;
    made.number_ = value;
    return made;
}

PythonValue PythonValue::big_integer(std::string_view digits) {
    PythonValue made = text(digits);
    made.kind_ = Kind::kBigInteger;
    return made;
}

PythonValue PythonValue::text(std::string_view utf8) {
    PythonValue made;
    made.kind_ = Kind::kText;
    made.size_ = utf8.size();
    made.data_ = utf8.data();
    return made;
}

PythonValue PythonValue::list(std::span<const PythonValue> items) {
    PythonValue made;
    made.kind_ = Kind::kList;
    made.size_ = items.size();
    made.data_ = items.data();
    return made;
}

PythonValue PythonValue::dict(std::span<const PythonMember> members) {
    PythonValue made;
    made.kind_ = Kind::kDict;
    made.size_ = members.size();
    made.data_ = members.data();
    return made;
}

std::string_view PythonValue::text() const {
    if (kind_ != Kind::kText && kind_ != Kind::kBigInteger) return {};
    return {static_cast<const char*>(data_), size_};
}

std::span<const PythonValue> PythonValue::items() const {
    if (kind_ != Kind::kList) return {};
    return {static_cast<const PythonValue*>(data_), size_};
}

std::span<const PythonMember> PythonValue::members() const {
    if (kind_ != Kind::kDict) return {};
    return {static_cast<const PythonMember*>(data_), size_};
}

const PythonValue* PythonValue::member(std::string_view name) const {
    for (const PythonMember& member : members())
        if (member.name == name) return &member.value;
    return nullptr;
}

std::optional<std::partial_ordering> compare(const PythonValue& value, double constant) {
    if (is_whole(value)) return compare_exactly(value.integer(), constant);
    if (value.kind() == Kind::kFloat) return value.number() <=> constant;
    if (value.kind() != Kind::kBigInteger) return std::nullopt;
    if (std::isnan(constant)) return std::partial_ordering::unordered;
    if (equals_big(value.text(), constant)) return std::partial_ordering::equivalent;
    // rounded_number() rounds to nearest and keeps the order; what rounds to the constant without being equal to it
    // would need a constant beyond 2^63, and no rule has one.
    const double rounded = rounded_number(std::string(value.text()));
    return rounded <=> constant;
}

bool equals(const PythonValue& value, double constant) {
    const auto order = compare(value, constant);
    return order && *order == 0;
}

bool equals(const PythonValue& value, std::string_view constant) {
    return value.is_text() && value.text() == constant;
}

bool same(const PythonValue& left, const PythonValue& right) {
    if (is_number(left) && is_number(right)) return same_numbers(left, right);
    if (left.kind() != right.kind()) return false;
    switch (left.kind()) {
        case Kind::kText:
            return left.text() == right.text();
        case Kind::kList:
            return std::ranges::equal(left.items(), right.items(), same);
        case Kind::kDict: {
            if (left.members().size() != right.members().size()) return false;
            const auto by_name = [](const PythonValue& dict) {
                std::vector<const PythonMember*> sorted;
                for (const PythonMember& member : dict.members()) sorted.push_back(&member);
                std::ranges::sort(sorted, {}, &PythonMember::name);
                return sorted;
            };
            return std::ranges::equal(by_name(left), by_name(right),
                                      [](const PythonMember* one, const PythonMember* other) {
                                          return one->name == other->name && same(one->value, other->value);
                                      });
        }
        default:
            return true;  // None
    }
}

bool is_true(const PythonValue& value) {
    switch (value.kind()) {
        case Kind::kNone:
            return false;
        case Kind::kBool:
        case Kind::kInteger:
            return value.integer() != 0;
        case Kind::kFloat:
            return value.number() != 0;
        case Kind::kBigInteger:
            return true;
        case Kind::kText:
            return !value.text().empty();
        case Kind::kList:
            return !value.items().empty();
        case Kind::kDict:
            return !value.members().empty();
    }
    return false;
}

std::optional<size_t> length(const PythonValue& value) {
    switch (value.kind()) {
        case Kind::kText:
            return std::ranges::count_if(value.text(), [](char byte) { return (byte & 0xC0) != 0x80; });
        case Kind::kList:
            return value.items().size();
        case Kind::kDict:
            return value.members().size();
        default:
            return std::nullopt;
    }
}

std::optional<bool> contains(const PythonValue& value, std::string_view name) {
    switch (value.kind()) {
        case Kind::kText:
            return value.text().contains(name);
        case Kind::kList:
            return std::ranges::any_of(value.items(),
                                       [&](const PythonValue& item) { return equals(item, name); });
        case Kind::kDict:
            return value.member(name) != nullptr;
        default:
            return std::nullopt;
    }
}

std::optional<double> to_float(const PythonValue& value) {
    if (is_whole(value)) return static_cast<double>(value.integer());
    if (value.kind() == Kind::kFloat) return value.number();
    if (value.kind() != Kind::kBigInteger) return std::nullopt;
    const double number = rounded_number(std::string(value.text()));
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<double> float_of_text(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return std::nullopt;
    text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
    std::string plain;
    for (size_t at = 0; at < text.size(); ++at) {
        const auto is_digit = [&](size_t where) {
            return where < text.size() && text[where] >= '0' && text[where] <= '9';
        };
        if (text[at] != '_')
            plain += text[at];
        else if (at == 0 || !is_digit(at - 1) || !is_digit(at + 1))
            return std::nullopt;
    }
    std::string_view digits = plain;
    const bool is_negative = digits.starts_with('-');
    if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
    // from_chars accepts what Python does, and also "nan(text)" and a second sign.
    if (digits.empty() || digits.starts_with('-') || digits.contains('(')) return std::nullopt;
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end != digits.data() + digits.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range)
        number = rounded_number(std::string(digits));
    else if (error != std::errc())
        return std::nullopt;
    return is_negative ? -number : number;
}

double rounded_number(const std::string& digits) {
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);  // free of the program's locale
    return strtod_l(digits.c_str(), nullptr, c_locale);
}

std::optional<bool> is_close(const PythonValue& value, double constant) {
    const auto number = to_float(value);
    if (!number) return std::nullopt;
    if (*number == constant) return true;
    if (std::isinf(*number)) return false;
    return std::abs(*number - constant) <= 1e-9 * std::max(std::abs(*number), std::abs(constant));
}

std::string shown(const PythonValue& value) {
    std::string out;
    show(out, value, 0);
    if (core::columns_of(out) > kShownCharacters)
        out = std::string(core::utf8_prefix(out, kShownCharacters)) + "...";
    return out;
}

}  // namespace belay::bench
