#include "core/python_json.h"
#include "core/utf8.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace belay::core {

namespace {

using Json = OrderedJson;

void write_escape(std::string& out, char32_t code) {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
}

void write_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        char32_t code = take_utf8_character(text);
        switch (code) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\b':
                out += "\\b";
                break;
            default:
                if (code >= ' ' && code <= '~') {
                    out += static_cast<char>(code);
                } else if (code < 0x10000) {
                    write_escape(out, code);
                } else {
                    write_escape(out, 0xD800 + ((code - 0x10000) >> 10));
                    write_escape(out, 0xDC00 + ((code - 0x10000) & 0x3FF));
                }
        }
    }
    out += '"';
}

void write_value(std::string& out, const Json& value) {
    switch (value.type()) {
        case Json::value_t::boolean:
            out += value.get<bool>() ? "true" : "false";
            break;
        case Json::value_t::number_integer:
            out += fmt::to_string(value.get<int64_t>());
            break;
        case Json::value_t::number_unsigned:
            out += fmt::to_string(value.get<uint64_t>());
            break;
        case Json::value_t::number_float:
            out += write_python_float(value.get<double>());
            break;
        case Json::value_t::string:
            write_string(out, value.get_ref<const std::string&>());
            break;
        case Json::value_t::array: {
            std::string_view separator = "[";
            for (const Json& element : value) {
                out += separator;
                write_value(out, element);
                separator = ", ";
            }
            out += value.empty() ? "[]" : "]";
            break;
        }
        case Json::value_t::object: {
            std::string_view separator = "{";
            for (const auto& [name, member] : value.items()) {
                out += separator;
                write_string(out, name);
                out += ": ";
                write_value(out, member);
                separator = ", ";
            }
            out += value.empty() ? "{}" : "}";
            break;
        }
        default:
            out += "null";
    }
}

}  // namespace

std::string write_python_float(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 64> buffer;
    auto format = [&](std::chars_format how) {
        return std::string(buffer.data(),
                           std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, how).ptr);
    };
    std::string scientific = format(std::chars_format::scientific);
    int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
    // float_repr_style "short": scientific below 1e-4 and from 1e16 on, always with a sign and two digits.
    if (value != 0 && (exponent < -4 || exponent >= 16)) return scientific;
    std::string fixed = format(std::chars_format::fixed);
    return fixed.contains('.') ? fixed : fixed + ".0";
}

std::string write_python_json(const Json& value) {
    std::string out;
    write_value(out, value);
    return out;
}

}  // namespace belay::core
