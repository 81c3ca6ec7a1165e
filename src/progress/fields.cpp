#include "progress/fields.h"

#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace belay::progress {

namespace {

constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// {"loss":"NaN","metric":"-Infinity"}
void note_not_finite(ProgressEvent& event, std::string_view name, double number) {
    std::string_view word = std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    std::string member = fmt::format("\"{}\":\"{}\"}}", name, word);
    if (event.text && event.text->ends_with('}')) {
        event.text->back() = ',';
        *event.text += member;
    } else {
        event.text = "{" + member;
    }
}

// Without the commas of "-1,234,567.8"; nothing if one stands elsewhere than between groups of three digits.
std::optional<std::string> without_thousands_commas(std::string_view text) {
    size_t sign = text.starts_with('-') ? 1 : 0;
    size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, sign));
    for (std::string_view group : core::split(text.substr(sign, point - sign), ',')) {
        bool is_first = digits.size() == sign;
        bool right_size = is_first ? !group.empty() && group.size() <= 3 : group.size() == 3;
        if (!right_size || !std::ranges::all_of(group, is_digit)) return std::nullopt;
        digits += group;
    }
    std::string_view fraction = text.substr(point);
    if (!fraction.empty() && !std::ranges::all_of(fraction.substr(1), is_digit)) return std::nullopt;
    return digits + std::string(fraction);
}

}  // namespace

bool set_field(ProgressEvent& event, const Field& field, double number) {
    if (field.convert != nullptr) number = field.convert(number);
    if (const IntegerField* integer = std::get_if<IntegerField>(&field.target)) {
        if (event.**integer || std::trunc(number) != number || std::abs(number) > kLargestExactInteger)
            return false;
        event.** integer = static_cast<int64_t>(number);
        return true;
    }
    RealField real = std::get<RealField>(field.target);
    if (event.*real) return false;
    if (std::isfinite(number))
        event.*real = number;
    else
        note_not_finite(event, field.name, number);
    return true;
}

std::optional<double> parse_printed_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with("-+")) return std::nullopt;
    if (text.find(',') == std::string_view::npos) return core::parse_number<double>(text);
    std::optional<std::string> digits = without_thousands_commas(text);
    if (!digits) return std::nullopt;
    return core::parse_number<double>(*digits);
}

}  // namespace belay::progress
