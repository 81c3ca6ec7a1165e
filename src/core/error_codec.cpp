#include "core/error_codec.h"

#include <charconv>
#include <cstring>

namespace belay::core {

namespace {

constexpr std::string_view kMark = "BE1";
constexpr char kValue = 'v';
constexpr char kError = 'e';

void put_number(std::string& out, uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}
void put_text(std::string& out, std::string_view text) {
    text = text.substr(0, kLongestEncodedText);
    put_number(out, static_cast<uint32_t>(text.size()));
    out += text;
}

// Takes from the front; what is not there any more is noted and read as 0 or "".
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::string_view bytes(size_t count) {
        if (count > rest_.size()) {
            complete_ = false;
            rest_ = {};
            return {};
        }
        std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    uint8_t byte() {
        std::string_view one = bytes(1);
        return one.empty() ? uint8_t{0} : static_cast<uint8_t>(one[0]);
    }
    uint32_t number() {
        uint32_t value = 0;
        std::string_view four = bytes(4);
        for (size_t i = four.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(four[i]);
        return value;
    }
    int signed_number() { return static_cast<int>(number()); }
    std::string text() {
        uint32_t length = number();
        if (length > kLongestEncodedText) complete_ = false;
        return std::string(complete_ ? bytes(length) : std::string_view());
    }
    bool ended_well() const { return complete_ && rest_.empty(); }

  private:
    std::string_view rest_;
    bool complete_ = true;
};

Failure not_an_error() {
    return system_error("the reply is not in Belay's format, or is incomplete")
        .hint("are all parts of Belay here of the same version?");
}

}  // namespace

std::string encode_error(const Error& error) {
    std::string out(kMark);
    out += static_cast<char>(error.kind());
    out += static_cast<char>(error.cause());
    put_number(out, static_cast<uint32_t>(error.errno_value()));
    put_text(out, error.message());
    put_text(out, error.hint_text());
    out += error.position() ? '\1' : '\0';
    if (!error.position()) return out;
    put_text(out, error.position()->file);
    put_number(out, static_cast<uint32_t>(error.position()->line));
    put_number(out, static_cast<uint32_t>(error.position()->column));
    // Half a line would show its mark at the wrong place.
    std::string_view line = error.position()->line_text;
    put_text(out, line.size() > kLongestEncodedText ? "" : line);
    return out;
}

Result<Error> decode_error(std::string_view bytes) {
    Reader reader(bytes);
    bool ours = reader.bytes(kMark.size()) == kMark;
    uint8_t kind = reader.byte();
    uint8_t cause = reader.byte();
    int errno_value = reader.signed_number();
    std::string message = reader.text();
    std::string hint = reader.text();
    uint8_t placed = reader.byte();
    SourcePosition position;
    if (placed == 1) {
        position.file = reader.text();
        position.line = reader.signed_number();
        position.column = reader.signed_number();
        position.line_text = reader.text();
    }
    bool known = kind >= static_cast<uint8_t>(ErrorKind::kNegative) &&
                 kind <= static_cast<uint8_t>(ErrorKind::kStoppedEarly) && placed <= 1;
    if (!ours || !known || !reader.ended_well()) return not_an_error();
    Error error(static_cast<ErrorKind>(kind), std::move(message));
    // A newer Belay may know more causes.
    bool known_cause = cause <= static_cast<uint8_t>(kLastCause);
    error = std::move(error)
                .because_of_errno(errno_value)
                .because(known_cause ? static_cast<Cause>(cause) : Cause::kOther);
    if (!hint.empty()) error = std::move(error).hint(hint);
    if (placed == 1) error = std::move(error).at(std::move(position));
    return error;
}

std::string error_to_hex(const Error& error) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (char byte : encode_error(error)) {
        digits += kDigits[static_cast<uint8_t>(byte) >> 4];
        digits += kDigits[static_cast<uint8_t>(byte) & 0xf];
    }
    return digits;
}

Result<Error> error_from_hex(std::string_view digits) {
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
        uint8_t byte = 0;
        const char* end = digits.data() + i + 2;
        auto [read_to, failure] = std::from_chars(digits.data() + i, end, byte, 16);
        if (failure != std::errc() || read_to != end) return not_an_error();
        bytes += static_cast<char>(byte);
    }
    if (digits.size() % 2 != 0) return not_an_error();
    return decode_error(bytes);
}

std::string encode_result(const Result<std::string>& result) {
    return result ? kValue + *result : kError + encode_error(result.error());
}

std::string encode_result(const Result<>& result) {
    return result ? std::string(1, kValue) : kError + encode_error(result.error());
}

Result<std::string> decode_result(std::string_view bytes) {
    if (bytes.starts_with(kValue)) return std::string(bytes.substr(1));
    if (!bytes.starts_with(kError)) return not_an_error();
    BELAY_TRY(error, decode_error(bytes.substr(1)));
    return std::unexpected(std::move(error));
}

}  // namespace belay::core
