#include "bench/compliance/mllog_reader.h"

#include "bench/compliance/python_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <simdjson.h>

#include <fmt/format.h>

namespace belay::bench {

namespace {

constexpr std::string_view kToken = ":::MLLOG ";

// What str.strip() takes off a text that was decoded as Latin-1.
bool is_python_blank(char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0;
}

struct LineShape {
    bool is_ascii = true;
    bool may_hold_token = false;  // two colons in a row
};

// Eight bytes at a time, each seven further, so that no pair of colons is missed.
LineShape shape_of(std::string_view line) {
    constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7F, kColons = 0x3A3A3A3A3A3A3A3A;
    uint64_t all = 0, pairs = 0;
    const auto look_at = [&](const char* at, size_t count) {
        uint64_t word = 0;
        std::memcpy(&word, at, count);
        all |= word;
        const uint64_t difference = word ^ kColons;
        const uint64_t colons = ~(((difference & kLow) + kLow) | difference | kLow);  // 0x80 for each
        pairs |= colons & colons << 8;
    };
    size_t at = 0;
    for (; at + 8 <= line.size(); at += 7) look_at(line.data() + at, 8);
    look_at(line.data() + at, line.size() - at);
    return {.is_ascii = (all & ~kLow) == 0, .may_hold_token = pairs != 0};
}

// The lines that hold the token, one after the other: what stands after the token, to the end of the line.
class TokenLines {
  public:
    explicit TokenLines(std::string_view bytes) : bytes_(bytes) {}

    std::optional<std::string_view> next() {
        const auto* found = static_cast<const char*>(
            memmem(bytes_.data() + at_, bytes_.size() - at_, kToken.data(), kToken.size()));
        if (found == nullptr) return std::nullopt;
        const size_t start = static_cast<size_t>(found - bytes_.data()) + kToken.size();
        const size_t end = std::min(next_of('\n', start, next_newline_), next_of('\r', start, next_return_));
        at_ = end;
        return bytes_.substr(start, end - start);
    }

  private:
    // Kept from line to line: a log may have none of them for a gigabyte.
    size_t next_of(char byte, size_t start, size_t& known) const {
        if (known >= start && known != kNotLooked) return known;
        const void* found = std::memchr(bytes_.data() + start, byte, bytes_.size() - start);
        known = found == nullptr ? bytes_.size()
                                 : static_cast<size_t>(static_cast<const char*>(found) - bytes_.data());
        return known;
    }

    static constexpr size_t kNotLooked = static_cast<size_t>(-1);
    std::string_view bytes_;
    size_t at_ = 0;
    size_t next_newline_ = kNotLooked;
    size_t next_return_ = kNotLooked;
};

// The members of a line that count; what is absent is nothing.
struct LineMembers {
    std::optional<PythonValue> time_ms, key, value, metadata;
};

enum class Outcome { kDone, kNotAccepted };

class LogReader {
  public:
    LogReader(std::string_view bytes, const KeySet& keys, ReadingWay way)
        : bytes_(bytes), keys_(keys), way_(way) {
        log_.arena = std::make_unique<std::pmr::monotonic_buffer_resource>(size_t{16} << 10);
    }

    LogLines read() {
        TokenLines lines(bytes_);
        while (auto line = lines.next()) {
            ++log_.lines;
            LineShape shape = shape_of(*line);
            if (shape.may_hold_token)
                if (const size_t last = line->rfind(kToken); last != std::string_view::npos)
                    line->remove_prefix(last + kToken.size());
            while (!line->empty() && is_python_blank(line->back())) line->remove_suffix(1);
            const bool is_fast =
                way_ == ReadingWay::kFast && shape.is_ascii && read_fast(*line) == Outcome::kDone;
            if (!is_fast) read_exactly(*line);
        }
        log_.parsed_lines = log_.lines - log_.bad_lines;
        return std::move(log_);
    }

  private:
    void add_problem(std::string text) {
        ++log_.bad_lines;
        if (log_.problems.size() < kMostProblems) log_.problems.push_back({log_.lines, std::move(text)});
    }

    static constexpr size_t kManyMembers = 64;  // to look for repeated ones one by one
    static constexpr size_t kNested = 256;  // deeper ones go the exact way, which takes more than simdjson

    // simdjson reads up to SIMDJSON_PADDING bytes beyond the end: of the next lines, or of a copy of the last ones.
    simdjson::simdjson_result<simdjson::dom::element> parse(std::string_view line) {
        if (line.size() > parser_.capacity()) {
            const size_t capacity = std::bit_ceil(std::max<size_t>(line.size(), 1024));
            if (const auto error = parser_.allocate(capacity, kNested); error != simdjson::SUCCESS)
                return error;
        }
        const size_t behind = static_cast<size_t>(bytes_.data() + bytes_.size() - line.data()) - line.size();
        if (behind >= simdjson::SIMDJSON_PADDING) return parser_.parse(line.data(), line.size(), false);
        padded_.assign(line);
        padded_.append(simdjson::SIMDJSON_PADDING, ' ');
        return parser_.parse(padded_.data(), line.size(), false);
    }

    // Whatever simdjson refuses, Python may still accept (NaN, integers of any size, lone surrogates), so only what
    // it accepts ends here.
    Outcome read_fast(std::string_view line) {
        simdjson::dom::object object;
        if (line.empty() || parse(line).get(object) != simdjson::SUCCESS) return Outcome::kNotAccepted;
        std::optional<simdjson::dom::element> time_ms, key, value, metadata;
        for (const auto field : object) {  // of repeated members the last counts
            if (field.key == "time_ms") time_ms = field.value;
            if (field.key == "key") key = field.value;
            if (field.key == "value") value = field.value;
            if (field.key == "metadata") metadata = field.value;
        }
        std::string_view name;
        int64_t milliseconds = 0;
        if (!time_ms || !key || !value || !metadata || time_ms->get(milliseconds) != simdjson::SUCCESS ||
            key->get(name) != simdjson::SUCCESS)
            return Outcome::kNotAccepted;
        const int number = keys_.find(name);
        if (number == KeySet::kUnknown) return Outcome::kDone;
        has_many_members_ = false;
        const LogEvent event{.line = log_.lines,
                             .time_ms = static_cast<double>(milliseconds),
                             .key = number,
                             .value = value_of(*value),
                             .metadata = value_of(*metadata)};
        if (has_many_members_) return Outcome::kNotAccepted;
        log_.events.push_back(event);
        return Outcome::kDone;
    }

    std::string_view kept(std::string_view text) {
        char* copy = static_cast<char*>(log_.arena->allocate(text.size(), 1));
        std::memcpy(copy, text.data(), text.size());
        return {copy, text.size()};
    }

    PythonValue value_of(const simdjson::dom::element& element) {
        using simdjson::dom::element_type;
        switch (element.type()) {
            case element_type::NULL_VALUE:
                return {};
            case element_type::BOOL:
                return PythonValue::boolean(bool(element));
            case element_type::INT64:
                return PythonValue::integer(int64_t(element));
            case element_type::UINT64:
                return PythonValue::big_integer(kept(fmt::to_string(uint64_t(element))));
            case element_type::DOUBLE:
                return PythonValue::number(double(element));
            case element_type::STRING:
                return PythonValue::text(kept(std::string_view(element)));
            case element_type::ARRAY:
                return list_of(element);
            case element_type::OBJECT:
                return dict_of(element);
        }
        return {};
    }

    PythonValue list_of(const simdjson::dom::array& array) {
        size_t count = 0;
        for ([[maybe_unused]] const auto item : array) ++count;
        auto* items = static_cast<PythonValue*>(
            log_.arena->allocate(count * sizeof(PythonValue), alignof(PythonValue)));
        size_t at = 0;
        for (const auto item : array) new (&items[at++]) PythonValue(value_of(item));
        return PythonValue::list({items, count});
    }

    PythonValue dict_of(const simdjson::dom::object& object) {
        size_t most = 0;
        for ([[maybe_unused]] const auto field : object) ++most;
        if (most > kManyMembers) {
            has_many_members_ = true;
            return {};
        }
        auto* members = static_cast<PythonMember*>(
            log_.arena->allocate(most * sizeof(PythonMember), alignof(PythonMember)));
        size_t count = 0;
        for (const auto field : object) {
            const auto known = std::find_if(members, members + count,
                                            [&](const PythonMember& one) { return one.name == field.key; });
            if (known != members + count)
                known->value = value_of(field.value);
            else
                new (&members[count++]) PythonMember{kept(field.key), value_of(field.value)};
        }
        return PythonValue::dict({members, count});
    }

    // As the official parser goes through the line; its message where it raises what it catches, ours where it
    // crashes.
    void read_exactly(std::string_view line) {
        const auto object = read_python_value(line, *log_.arena);
        if (!object)
            return add_problem(fmt::format("is not JSON: at byte {} behind \":::MLLOG\": {}",
                                           object.error().byte, object.error().what));
        if (object->kind() != PythonValue::Kind::kDict)
            return add_problem("is JSON, but not an object: nothing can be read from it");
        for (std::string_view member : {"time_ms", "key", "value", "metadata"})
            if (object->member(member) == nullptr)
                return add_problem(fmt::format("missing field \"{}\"", member));
        const PythonValue& time = *object->member("time_ms");
        const auto milliseconds = time.is_text() ? float_of_text(time.text()) : to_float(time);
        if (!milliseconds) return add_problem(fmt::format("time_ms is {}, not a number", shown(time)));
        const PythonValue& key = *object->member("key");
        const int number = key.is_text() ? keys_.find(key.text()) : KeySet::kUnknown;
        if (number == KeySet::kUnknown) return;
        log_.events.push_back({.line = log_.lines,
                               .time_ms = *milliseconds,
                               .key = number,
                               .value = *object->member("value"),
                               .metadata = *object->member("metadata")});
    }

    std::string_view bytes_;
    const KeySet& keys_;
    ReadingWay way_;
    simdjson::dom::parser parser_;
    std::string padded_;
    bool has_many_members_ = false;
    LogLines log_;
};

}  // namespace

LogLines read_log(std::string_view bytes, const KeySet& keys, ReadingWay way) {
    return LogReader(bytes, keys, way).read();
}

}  // namespace belay::bench
