#include "database/value.h"

#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"

#include <cmath>

namespace belay::database {

using core::bad_input;
using core::Result;

namespace {

Result<size_t> check_length(size_t bytes) {
    if (bytes > kLongestValue)
        return bad_input("{} bytes are too long, at most {} are stored", bytes,
                         core::to_text(core::ByteSize{kLongestValue}));
    return bytes;
}

// How many bytes the value takes, as far as that can be many.
Result<size_t> checked_size(const Value& value) {
    if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isnan(*number))
        return bad_input("NaN cannot be stored").hint("store null where a number is missing");
    if (const auto* bytes = std::get_if<Bytes>(&value)) return check_length(bytes->data.size());
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return sizeof(int64_t);
    if (auto place = first_bad_byte(*text))
        return bad_input("byte {} of the text is {}", *place + 1,
                         (*text)[*place] == '\0' ? "NUL" : "not part of UTF-8")
            .hint("store as bytes what is not text");
    return check_length(text->size());
}

}  // namespace

std::optional<size_t> first_bad_byte(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        size_t length = core::utf8_character_length(text.substr(i));
        if (length == 0 || text[i] == '\0') return i;
        i += length;
    }
    return std::nullopt;
}

Result<> check_parameters(const Values& values, size_t parameters) {
    if (values.size() != parameters)
        return bad_input("a statement with {} was given {}", core::format_count(parameters, "parameter"),
                         core::format_count(values.size(), "value"));
    size_t total = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        BELAY_TRY(size, core::with_context(checked_size(values[i]), fmt::format("parameter {}", i + 1)));
        total += size;
    }
    if (total > kMostParameterBytes)
        return bad_input("{} bytes of parameters are too many for one statement, it takes {}", total,
                         core::to_text(core::ByteSize{kMostParameterBytes}));
    return {};
}

const Value& Row::at(size_t column) const {
    static const Value kNull;
    return column < values_.size() ? values_[column] : kNull;
}

std::optional<int64_t> Row::integer(size_t column) const {
    const auto* value = std::get_if<int64_t>(&at(column));
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<double> Row::number(size_t column) const {
    if (const auto* value = std::get_if<double>(&at(column))) return *value;
    auto whole = integer(column);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<std::string> Row::text(size_t column) const {
    const auto* value = std::get_if<std::string>(&at(column));
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::string> Row::bytes(size_t column) const {
    const auto* value = std::get_if<Bytes>(&at(column));
    return value != nullptr ? std::optional(value->data) : std::nullopt;
}

}  // namespace belay::database
