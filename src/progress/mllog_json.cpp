#include "progress/mllog_json.h"

#include <array>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <locale.h>
#include <unordered_map>

namespace belay::progress {

using core::bad_input;
using core::Result;

namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_surrogate(char32_t code) {
    return code >= 0xD800 && code <= 0xDFFF;
}

void append_utf8(std::string& text, char32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | (code >> 6));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | (code >> 12));
        text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | (code >> 18));
        text += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
        text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

// The character that starts at `at`, which moves behind it; one byte that starts none is U+FFFD.
char32_t next_utf8(std::string_view text, size_t& at) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned char first = byte(at++);
    if (first < 0x80) return first;
    int more = first >= 0xF0 && first < 0xF5   ? 3
               : first >= 0xE0 && first < 0xF0 ? 2
               : first >= 0xC2 && first < 0xE0 ? 1
                                               : 0;
    if (more == 0 || at + more > text.size()) return kReplacement;
    char32_t code = first & (0x3F >> more);
    for (int i = 0; i < more; ++i) {
        if ((byte(at + i) & 0xC0) != 0x80) return kReplacement;
        code = code << 6 | (byte(at + i) & 0x3F);
    }
    constexpr std::array<char32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[more] || code > 0x10FFFF || is_surrogate(code)) return kReplacement;
    at += more;
    return code;
}

void write_escape(std::string& out, char32_t code) {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
}

void write_string(std::string& out, std::string_view text) {
    out += '"';
    for (size_t at = 0; at < text.size();) {
        char32_t code = next_utf8(text, at);
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

double number_out_of_range(const std::string& text) {
    // from_chars says only "out of range"; strtod tells too large (inf) from too small (0), here free of the
    // locale.
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(text.c_str(), nullptr, c_locale);
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Json> document() {
        skip_blanks();
        BELAY_TRY(value, parse_value(0));
        skip_blanks();
        if (at_ < text_.size()) return fail("extra characters after the value");
        return value;
    }

  private:
    core::Failure fail(std::string_view what) const { return bad_input("byte {}: {}", at_ + 1, what); }

    bool at_end() const { return at_ >= text_.size(); }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    void skip_blanks() {
        while (!at_end() && std::string_view(" \t\n\r").contains(text_[at_])) ++at_;
    }

    Result<Json> parse_value(int depth) {
        if (at_end()) return fail("a value is missing");
        switch (text_[at_]) {
            case '"': {
                BELAY_TRY(text, parse_string());
                return Json(std::move(text));
            }
            case '{':
                return depth < kMaximumJsonDepth ? parse_object(depth + 1) : too_deep();
            case '[':
                return depth < kMaximumJsonDepth ? parse_array(depth + 1) : too_deep();
            default:
                break;
        }
        if (take("null")) return Json(nullptr);
        if (take("true")) return Json(true);
        if (take("false")) return Json(false);
        if (take("NaN")) return Json(std::nan(""));
        if (take("Infinity")) return Json(HUGE_VAL);
        if (take("-Infinity")) return Json(-HUGE_VAL);
        return parse_number();
    }

    Result<Json> too_deep() const {
        return bad_input("byte {}: nested deeper than {}", at_ + 1, kMaximumJsonDepth);
    }

    Result<Json> parse_array(int depth) {
        ++at_;
        Json array = Json::array();
        skip_blanks();
        if (take("]")) return array;
        while (true) {
            skip_blanks();
            BELAY_TRY(element, parse_value(depth));
            array.push_back(std::move(element));
            skip_blanks();
            if (take("]")) return array;
            if (!take(",")) return fail("expected \",\" or \"]\"");
        }
    }

    Result<Json> parse_object(int depth) {
        ++at_;
        Json object = Json::object();
        auto& members = object.get_ref<Json::object_t&>();
        // A hostile line may have a hundred thousand members, and the ordered object looks names up one by
        // one.
        std::unordered_map<std::string, size_t> places;
        skip_blanks();
        if (take("}")) return object;
        while (true) {
            skip_blanks();
            if (at_end() || text_[at_] != '"') return fail("expected the name of a member in double quotes");
            BELAY_TRY(name, parse_string());
            skip_blanks();
            if (!take(":")) return fail("expected \":\"");
            skip_blanks();
            BELAY_TRY(member, parse_value(depth));
            auto [place, is_new] = places.try_emplace(name, members.size());
            if (is_new) {
                members.emplace_back(name, std::move(member));
            } else {
                (members.begin() + static_cast<ptrdiff_t>(place->second))->second = std::move(member);
            }
            skip_blanks();
            if (take("}")) return object;
            if (!take(",")) return fail("expected \",\" or \"}\"");
        }
    }

    Result<std::string> parse_string() {
        ++at_;
        std::string text;
        while (!at_end()) {
            auto byte = static_cast<unsigned char>(text_[at_]);
            if (byte == '"') {
                ++at_;
                return text;
            }
            if (byte < 0x20) return fail("control character in a string");
            if (byte == '\\') {
                BELAY_TRY(code, parse_escape());
                append_utf8(text, code);
            } else {
                append_utf8(text, byte);
                ++at_;
            }
        }
        return fail("the string has no end");
    }

    Result<char32_t> parse_escape() {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        if (at_ + 1 >= text_.size()) return fail("the string has no end");
        char name = text_[at_ + 1];
        if (name != 'u') {
            size_t which = kNames.find(name);
            if (which == std::string_view::npos) return fail("unknown escape");
            at_ += 2;
            return static_cast<char32_t>(kMeanings[which]);
        }
        BELAY_TRY(code, parse_unicode_escape());
        if (!is_surrogate(code)) return code;
        if (code >= 0xDC00 || !text_.substr(at_).starts_with("\\u")) return kReplacement;
        size_t before = at_;
        BELAY_TRY(low, parse_unicode_escape());
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        at_ = before;
        return kReplacement;
    }

    // \uXXXX at the current place.
    Result<char32_t> parse_unicode_escape() {
        std::string_view digits = text_.substr(at_ + 2, 4);
        uint32_t code = 0;
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
            return fail("\\u wants four hexadecimal digits");
        at_ += 6;
        return static_cast<char32_t>(code);
    }

    size_t take_digits() {
        size_t start = at_;
        while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
        return at_ - start;
    }

    // -?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)? as json.scanner has it; a part that does not match is left over.
    Result<Json> parse_number() {
        size_t start = at_;
        take("-");
        if (!take("0") && take_digits() == 0) {
            at_ = start;
            return fail("a value is missing");
        }
        bool whole = true;
        size_t mark = at_;
        if (take(".") && take_digits() > 0) {
            whole = false;
        } else {
            at_ = mark;
        }
        mark = at_;
        if (take("e") || take("E")) {
            if (!take("-")) take("+");
            if (take_digits() > 0) {
                whole = false;
            } else {
                at_ = mark;
            }
        }
        return number_value(text_.substr(start, at_ - start), whole);
    }

    static Json number_value(std::string_view digits, bool whole) {
        const char* first = digits.data();
        const char* last = first + digits.size();
        int64_t integer = 0;
        if (whole && std::from_chars(first, last, integer).ec == std::errc()) return integer;
        uint64_t large = 0;
        if (whole && digits[0] != '-' && std::from_chars(first, last, large).ec == std::errc()) return large;
        double number = 0;
        if (std::from_chars(first, last, number).ec != std::errc())
            number = number_out_of_range(std::string(digits));
        return number;
    }

    std::string_view text_;
    size_t at_ = 0;
};

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

Result<Json> parse_python_json(std::string_view latin1) {
    return Parser(latin1).document();
}

}  // namespace belay::progress
