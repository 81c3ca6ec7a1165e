#include "core/python_json.h"

#include "core/utf8.h"

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <locale.h>
#include <unordered_map>

namespace belay::core {

namespace {

using Json = OrderedJson;

bool is_surrogate(char32_t code) {
    return code >= 0xD800 && code <= 0xDFFF;
}

double number_out_of_range(const std::string& text) {
    // from_chars says only "out of range"; strtod tells too large (inf) from too small (0), here free of the
    // locale.
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(text.c_str(), nullptr, c_locale);
}

class Parser {
  public:
    Parser(std::string_view text, TextEncoding encoding) : text_(text), encoding_(encoding) {}

    Result<Json> document() {
        skip_blanks();
        BELAY_TRY(value, parse_value(0));
        skip_blanks();
        if (at_ < text_.size()) return fail("extra characters after the value");
        return value;
    }

  private:
    Failure fail(std::string_view what) const { return bad_input("byte {}: {}", at_ + 1, what); }

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
                return depth < kMaxPythonJsonDepth ? parse_object(depth + 1) : too_deep();
            case '[':
                return depth < kMaxPythonJsonDepth ? parse_array(depth + 1) : too_deep();
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
        return bad_input("byte {}: nested deeper than {}", at_ + 1, kMaxPythonJsonDepth);
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
            } else if (byte < 0x80 || encoding_ == TextEncoding::kLatin1) {
                append_utf8(text, byte);
                ++at_;
            } else {
                size_t length = utf8_character_length(text_.substr(at_));
                if (length == 0) return fail("not UTF-8");
                text += text_.substr(at_, length);
                at_ += length;
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
        if (code >= 0xDC00 || !text_.substr(at_).starts_with("\\u")) return kReplacementCharacter;
        size_t before = at_;
        BELAY_TRY(low, parse_unicode_escape());
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        at_ = before;
        return kReplacementCharacter;
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
    TextEncoding encoding_;
    size_t at_ = 0;
};

}  // namespace

Result<Json> parse_python_json(std::string_view text, TextEncoding encoding) {
    return Parser(text, encoding).document();
}

}  // namespace belay::core
