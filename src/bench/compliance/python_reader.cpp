#include "bench/compliance/python_reader.h"

#include "core/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::bench {

namespace {

template <typename T>
std::span<const T> kept_in(std::pmr::memory_resource& arena, std::span<const T> values) {
    if (values.empty()) return {};
    T* copy = static_cast<T*>(arena.allocate(values.size_bytes(), alignof(T)));
    std::uninitialized_copy(values.begin(), values.end(), copy);
    return {copy, values.size()};
}

class ExactReader {
  public:
    using Read = std::expected<PythonValue, JsonProblem>;

    ExactReader(std::string_view text, std::pmr::memory_resource& arena) : text_(text), arena_(arena) {}

    Read document() {
        skip_blanks();
        Read value = read_value(0);
        if (!value) return value;
        skip_blanks();
        if (at_ < text_.size()) return fail("extra characters after the value");
        return value;
    }

  private:
    std::unexpected<JsonProblem> fail(std::string_view what) const {
        return std::unexpected(JsonProblem{at_ + 1, what});
    }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
    void skip_blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
            ++at_;
    }

    Read read_value(int depth) {
        if (at_ == text_.size()) return fail("a value is missing");
        switch (text_[at_]) {
            case '"': {
                const auto text = read_text();
                if (!text) return std::unexpected(text.error());
                return PythonValue::text(*text);
            }
            case '{':
                return depth < kMostNested ? read_dict(depth + 1) : fail("nested too deep");
            case '[':
                return depth < kMostNested ? read_list(depth + 1) : fail("nested too deep");
            default:
                break;
        }
        if (take("null")) return PythonValue();
        if (take("true")) return PythonValue::boolean(true);
        if (take("false")) return PythonValue::boolean(false);
        if (take("NaN")) return PythonValue::number(std::numeric_limits<double>::quiet_NaN());
        if (take("Infinity")) return PythonValue::number(HUGE_VAL);
        if (take("-Infinity")) return PythonValue::number(-HUGE_VAL);
        return read_number();
    }

    Read read_list(int depth) {
        ++at_;
        std::vector<PythonValue> items;
        skip_blanks();
        if (take("]")) return PythonValue::list({});
        while (true) {
            skip_blanks();
            Read item = read_value(depth);
            if (!item) return item;
            items.push_back(*item);
            skip_blanks();
            if (take("]")) return PythonValue::list(kept_in<PythonValue>(arena_, items));
            if (!take(",")) return fail("expected \",\" or \"]\"");
        }
    }

    Read read_dict(int depth) {
        ++at_;
        std::vector<PythonMember> members;
        std::unordered_map<std::string_view, size_t> places;  // of members, once there are many
        const auto put = [&](std::string_view name, const PythonValue& value) {
            constexpr size_t kFew = 16;
            if (members.size() < kFew) {
                const auto found = std::ranges::find(members, name, &PythonMember::name);
                if (found == members.end())
                    members.push_back({name, value});
                else
                    found->value = value;
                return;
            }
            if (places.empty())
                for (size_t at = 0; at < members.size(); ++at) places.emplace(members[at].name, at);
            const auto [place, is_new] = places.try_emplace(name, members.size());
            if (is_new)
                members.push_back({name, value});
            else
                members[place->second].value = value;
        };
        skip_blanks();
        if (take("}")) return PythonValue::dict({});
        while (true) {
            skip_blanks();
            if (at_ == text_.size() || text_[at_] != '"')
                return fail("expected the name of a member in double quotes");
            const auto name = read_text();
            if (!name) return std::unexpected(name.error());
            skip_blanks();
            if (!take(":")) return fail("expected \":\"");
            skip_blanks();
            Read value = read_value(depth);
            if (!value) return value;
            put(*name, *value);
            skip_blanks();
            if (take("}")) return PythonValue::dict(kept_in<PythonMember>(arena_, members));
            if (!take(",")) return fail("expected \",\" or \"}\"");
        }
    }

    // As it stands where it needs no decoding, else decoded in the arena.
    std::expected<std::string_view, JsonProblem> read_text() {
        const size_t start = ++at_;
        std::string decoded;
        bool is_plain = true;
        while (at_ < text_.size()) {
            const auto byte = static_cast<unsigned char>(text_[at_]);
            if (byte == '"') {
                const std::string_view whole = text_.substr(start, at_++ - start);
                if (is_plain) return whole;
                const auto kept = kept_in<char>(arena_, decoded);
                return std::string_view(kept.data(), kept.size());
            }
            if (byte < 0x20) return fail("control character in a text");
            if (is_plain && (byte == '\\' || byte >= 0x80)) {
                is_plain = false;
                decoded = text_.substr(start, at_ - start);
            }
            if (byte == '\\') {
                const auto code = read_escape();
                if (!code) return std::unexpected(code.error());
                append(decoded, *code);
            } else {
                if (!is_plain) append(decoded, byte);
                ++at_;
            }
        }
        return fail("the text has no end");
    }

    static void append(std::string& text, char32_t code) {
        if (code < 0xD800 || code > 0xDFFF) return core::append_utf8(text, code);
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }

    std::expected<char32_t, JsonProblem> read_escape() {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        if (at_ + 1 >= text_.size()) return fail("the text has no end");
        const char name = text_[at_ + 1];
        if (name != 'u') {
            const size_t which = kNames.find(name);
            if (which == std::string_view::npos) return fail("unknown escape");
            at_ += 2;
            return static_cast<char32_t>(kMeanings[which]);
        }
        const auto high = hexadecimal(at_ + 2);
        if (!high) return fail("\\u wants four hexadecimal digits");
        at_ += 6;
        if (*high < 0xD800 || *high > 0xDBFF || !text_.substr(at_).starts_with("\\u")) return *high;
        const auto low = hexadecimal(at_ + 2);
        if (!low) return fail("\\u wants four hexadecimal digits");
        if (*low < 0xDC00 || *low > 0xDFFF) return *high;
        at_ += 6;
        return 0x10000 + ((*high - 0xD800) << 10 | (*low - 0xDC00));
    }

    std::optional<char32_t> hexadecimal(size_t at) const {
        const std::string_view digits = at < text_.size() ? text_.substr(at, 4) : std::string_view();
        uint32_t code = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) return std::nullopt;
        return static_cast<char32_t>(code);
    }

    // -?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?; a part that does not match is left over.
    Read read_number() {
        const size_t start = at_;
        take("-");
        if (!is_digit()) {
            at_ = start;
            return fail("a value is missing");
        }
        if (!take("0")) skip_digits();
        bool is_whole = true;
        const auto optional_part = [&](size_t mark) {
            if (is_digit()) {
                skip_digits();
                is_whole = false;
            } else {
                at_ = mark;
            }
        };
        if (const size_t mark = at_; take(".")) optional_part(mark);
        if (const size_t mark = at_; take("e") || take("E")) {
            if (!take("-")) take("+");
            optional_part(mark);
        }
        return number_of(text_.substr(start, at_ - start), is_whole);
    }
    void skip_digits() {
        while (is_digit()) ++at_;
    }

    Read number_of(std::string_view digits, bool is_whole) const {
        const char* end = digits.data() + digits.size();
        if (is_whole) {
            int64_t integer = 0;
            if (std::from_chars(digits.data(), end, integer).ec == std::errc())
                return PythonValue::integer(integer);
            if (digits.size() - (digits.starts_with('-') ? 1 : 0) > kMostDigits)
                return fail("an integer has more than 4300 digits");
            return PythonValue::big_integer(digits);
        }
        double number = 0;
        if (std::from_chars(digits.data(), end, number).ec != std::errc())
            number = rounded_number(std::string(digits));  // too large: inf; too small: 0
        return PythonValue::number(number);
    }

    std::string_view text_;
    std::pmr::memory_resource& arena_;
    size_t at_ = 0;
};

}  // namespace

std::expected<PythonValue, JsonProblem> read_python_value(std::string_view latin1,
                                                          std::pmr::memory_resource& arena) {
    return ExactReader(latin1, arena).document();
}

}  // namespace belay::bench
