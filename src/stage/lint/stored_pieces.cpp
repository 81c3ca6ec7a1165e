#include "stage/lint/stored_pieces.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

namespace belay::stage {

namespace {

using core::Result;

// A value that the pickle builds. Of containers only the pairs of dictionaries are kept, by the numbers of
// their values.
struct Value {
    enum class Kind { kOther, kInteger, kText, kDictionary };
    Kind kind = Kind::kOther;
    int64_t number = 0;
    std::string_view text = {};
    std::vector<std::pair<uint32_t, uint32_t>> items = {};
};

// How long the argument of an operation is, and what the operation does to the stack (Lib/pickletools.py of
// CPython).
enum class Argument : uint8_t {
    kNone,
    kOne,
    kTwo,
    kFour,
    kEight,
    kLine,
    kTwoLines,
    kText1,
    kText4,
    kText8,
    kBytes1,
    kBytes4,
    kBytes8
};
enum class Effect : uint8_t {
    kSkip,        // no value comes or goes
    kPush,        // a value of which nothing more is known
    kInteger,     // the argument as a number
    kLong,        // likewise, little-endian with a sign, of any length
    kPushText,    // the argument as a text
    kDictionary,  // an empty one
    kMark,
    kPop,
    kPopMark,
    kDuplicate,
    kReplace1,  // that many values by one
    kReplace2,
    kReplace3,
    kReplaceMark,  // all down to the mark
    kKeepFirst,    // all down to the mark go: APPENDS and the like
    kKeepFirst1,   // one value goes: APPEND
    kSetItem,
    kSetItems,
    kMakeDictionary,
    kBuild,
    kPut,
    kMemoize,
    kGet,
    kStop,
};
struct Operation {
    unsigned char code;
    Argument argument;
    Effect effect;
};
constexpr std::array kOperations = std::to_array<Operation>({
    {0x80, Argument::kOne, Effect::kSkip},
    {0x95, Argument::kEight, Effect::kSkip},
    {'(', Argument::kNone, Effect::kMark},
    {'.', Argument::kNone, Effect::kStop},
    {'}', Argument::kNone, Effect::kDictionary},
    {']', Argument::kNone, Effect::kPush},
    {')', Argument::kNone, Effect::kPush},
    {0x8f, Argument::kNone, Effect::kPush},
    {'N', Argument::kNone, Effect::kPush},
    {0x88, Argument::kNone, Effect::kPush},
    {0x89, Argument::kNone, Effect::kPush},
    {'G', Argument::kEight, Effect::kPush},
    {'J', Argument::kFour, Effect::kLong},
    {'K', Argument::kOne, Effect::kInteger},
    {'M', Argument::kTwo, Effect::kInteger},
    {0x8a, Argument::kBytes1, Effect::kLong},
    {0x8b, Argument::kBytes4, Effect::kLong},
    {0x8c, Argument::kText1, Effect::kPushText},
    {'X', Argument::kText4, Effect::kPushText},
    {0x8d, Argument::kText8, Effect::kPushText},
    {'C', Argument::kBytes1, Effect::kPush},
    {'B', Argument::kBytes4, Effect::kPush},
    {0x8e, Argument::kBytes8, Effect::kPush},
    {0x96, Argument::kBytes8, Effect::kPush},
    {'U', Argument::kText1, Effect::kPushText},
    {'T', Argument::kText4, Effect::kPushText},
    {'c', Argument::kTwoLines, Effect::kPush},
    {0x93, Argument::kNone, Effect::kReplace2},
    {'R', Argument::kNone, Effect::kReplace2},
    {0x81, Argument::kNone, Effect::kReplace2},
    {0x92, Argument::kNone, Effect::kReplace3},
    {'Q', Argument::kNone, Effect::kReplace1},
    {0x85, Argument::kNone, Effect::kReplace1},
    {0x86, Argument::kNone, Effect::kReplace2},
    {0x87, Argument::kNone, Effect::kReplace3},
    {'t', Argument::kNone, Effect::kReplaceMark},
    {'l', Argument::kNone, Effect::kReplaceMark},
    {0x91, Argument::kNone, Effect::kReplaceMark},
    {'d', Argument::kNone, Effect::kMakeDictionary},
    {'e', Argument::kNone, Effect::kKeepFirst},
    {0x90, Argument::kNone, Effect::kKeepFirst},
    {'a', Argument::kNone, Effect::kKeepFirst1},
    {'s', Argument::kNone, Effect::kSetItem},
    {'u', Argument::kNone, Effect::kSetItems},
    {'b', Argument::kNone, Effect::kBuild},
    {'0', Argument::kNone, Effect::kPop},
    {'1', Argument::kNone, Effect::kPopMark},
    {'2', Argument::kNone, Effect::kDuplicate},
    {'q', Argument::kOne, Effect::kPut},
    {'r', Argument::kFour, Effect::kPut},
    {0x94, Argument::kNone, Effect::kMemoize},
    {'h', Argument::kOne, Effect::kGet},
    {'j', Argument::kFour, Effect::kGet},
});

uint64_t little_endian(std::string_view bytes) {
    uint64_t value = 0;
    for (size_t at = std::min<size_t>(bytes.size(), 8); at-- > 0;)
        value = (value << 8U) | static_cast<uint8_t>(bytes[at]);
    return value;
}

// With its sign; nothing where it does not fit.
std::optional<int64_t> signed_number(std::string_view bytes) {
    if (bytes.size() > 9 || (bytes.size() == 9 && bytes[8] != '\0')) return std::nullopt;
    uint64_t value = little_endian(bytes);
    const bool negative =
        !bytes.empty() && bytes.size() < 9 && (static_cast<uint8_t>(bytes.back()) & 0x80U) != 0;
    if (negative && bytes.size() < 8) value |= ~uint64_t{0} << (8 * bytes.size());
    if (!negative && value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(value);
}

// A piece of a tensor takes some thirty; each takes memory here, of a byte in the file.
constexpr size_t kMostValues = size_t{1} << 24;

class Machine {
  public:
    explicit Machine(std::string_view pickle) : rest_(pickle) {}

    Result<std::vector<Value>> run() {
        while (!stopped_) {
            if (rest_.empty()) return core::bad_input("ends in the middle");
            const auto code = static_cast<unsigned char>(rest_[0]);
            const auto* operation = std::ranges::find(kOperations, code, &Operation::code);
            if (operation == kOperations.end())
                return core::bad_input("has the unknown operation {:#04x}", code);
            rest_.remove_prefix(1);
            auto argument = take(operation->argument);
            if (!argument) return core::bad_input("ends in the middle");
            if (!apply(operation->effect, *argument))
                return core::bad_input("takes a value that is not there");
            if (values_.size() > kMostValues)
                return core::bad_input("builds more than {} values", kMostValues)
                    .because(core::Cause::kNoSpace);
        }
        return std::move(values_);
    }

  private:
    std::optional<std::string_view> piece(uint64_t size) {
        if (size > rest_.size()) return std::nullopt;
        const std::string_view taken = rest_.substr(0, static_cast<size_t>(size));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::optional<std::string_view> counted(size_t bytes_of_length) {
        const auto length = piece(bytes_of_length);
        return length ? piece(little_endian(*length)) : std::nullopt;
    }
    std::optional<std::string_view> line() {
        const size_t end = rest_.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        return piece(end + 1);
    }
    std::optional<std::string_view> take(Argument argument) {
        switch (argument) {
            case Argument::kNone:
                return std::string_view();
            case Argument::kOne:
                return piece(1);
            case Argument::kTwo:
                return piece(2);
            case Argument::kFour:
                return piece(4);
            case Argument::kEight:
                return piece(8);
            case Argument::kLine:
                return line();
            case Argument::kTwoLines:
                return line() ? line() : std::nullopt;
            case Argument::kText1:
            case Argument::kBytes1:
                return counted(1);
            case Argument::kText4:
            case Argument::kBytes4:
                return counted(4);
            case Argument::kText8:
            case Argument::kBytes8:
                return counted(8);
        }
        return std::nullopt;
    }

    bool push(Value value = {}) {
        values_.push_back(std::move(value));
        stack_.push_back(static_cast<uint32_t>(values_.size() - 1));
        return true;
    }
    bool pop(size_t count) {
        if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) return false;
        stack_.resize(stack_.size() - count);
        return true;
    }
    std::optional<std::vector<uint32_t>> pop_to_mark() {
        if (marks_.empty()) return std::nullopt;
        std::vector<uint32_t> taken(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return taken;
    }
    bool add_items(const std::vector<uint32_t>& items) {
        if (stack_.empty() || items.size() % 2 != 0) return false;
        Value& dictionary = values_[stack_.back()];
        for (size_t at = 0; at < items.size(); at += 2)
            dictionary.items.emplace_back(items[at], items[at + 1]);
        return true;
    }
    bool replace_mark(bool with_dictionary) {
        const auto items = pop_to_mark();
        if (!items) return false;
        push({.kind = with_dictionary ? Value::Kind::kDictionary : Value::Kind::kOther});
        return !with_dictionary || add_items(*items);
    }
    bool set_item() {
        if (stack_.size() < 3) return false;
        const std::vector<uint32_t> items(stack_.end() - 2, stack_.end());
        return pop(2) && add_items(items);
    }
    bool get(std::string_view argument) {
        const uint64_t place = little_endian(argument);
        if (place >= memo_.size()) return false;
        stack_.push_back(memo_[static_cast<size_t>(place)]);
        return true;
    }
    // Programs number what they keep one after the other, as far as that is needed.
    bool put(size_t place) {
        if (stack_.empty() || place > values_.size()) return false;
        if (memo_.size() <= place) memo_.resize(place + 1, stack_.back());
        memo_[place] = stack_.back();
        return true;
    }

    bool apply(Effect effect, std::string_view argument) {
        switch (effect) {
            case Effect::kSkip:
                return true;
            case Effect::kPush:
                return push();
            case Effect::kInteger:
                return push(
                    {.kind = Value::Kind::kInteger, .number = static_cast<int64_t>(little_endian(argument))});
            case Effect::kLong: {
                const auto number = signed_number(argument);
                return push({.kind = number ? Value::Kind::kInteger : Value::Kind::kOther,
                             .number = number.value_or(0)});
            }
            case Effect::kPushText:
                return push({.kind = Value::Kind::kText, .text = argument});
            case Effect::kDictionary:
                return push({.kind = Value::Kind::kDictionary});
            case Effect::kMark:
                marks_.push_back(stack_.size());
                return true;
            case Effect::kPop:
                return pop(1);
            case Effect::kPopMark:
                return pop_to_mark().has_value();
            case Effect::kDuplicate:
                if (stack_.empty()) return false;
                stack_.push_back(stack_.back());
                return true;
            case Effect::kReplace1:
                return pop(1) && push();
            case Effect::kReplace2:
                return pop(2) && push();
            case Effect::kReplace3:
                return pop(3) && push();
            case Effect::kReplaceMark:
                return replace_mark(false);
            case Effect::kMakeDictionary:
                return replace_mark(true);
            case Effect::kKeepFirst:
                return pop_to_mark().has_value() && !stack_.empty();
            case Effect::kKeepFirst1:
                return pop(1) && !stack_.empty();
            case Effect::kSetItem:
                return set_item();
            case Effect::kSetItems: {
                const auto items = pop_to_mark();
                return items && add_items(*items);
            }
            case Effect::kBuild:
                return pop(1) && !stack_.empty();
            case Effect::kPut:
                return put(static_cast<size_t>(little_endian(argument)));
            case Effect::kMemoize:
                return put(memo_.size());
            case Effect::kGet:
                return get(argument);
            case Effect::kStop:
                stopped_ = true;
                return true;
        }
        return false;
    }

    std::string_view rest_;
    std::vector<Value> values_;
    std::vector<uint32_t> stack_;
    std::vector<size_t> marks_;
    std::vector<uint32_t> memo_;
    bool stopped_ = false;
};

const Value* value_of(const std::vector<Value>& values, const Value& dictionary, std::string_view key) {
    for (const auto& [name, value] : dictionary.items)
        if (values[name].kind == Value::Kind::kText && values[name].text == key) return &values[value];
    return nullptr;
}

}  // namespace

Result<std::map<std::string, uint64_t>> stored_pieces(std::string_view pickle) {
    BELAY_TRY(values, Machine(pickle).run());
    std::map<std::string, uint64_t> files;
    for (const Value& value : values) {
        // The state of a _StorageInfo has few keys; storage_data itself, with one for each piece, is passed
        // over.
        if (value.kind != Value::Kind::kDictionary || value.items.size() < 3 || value.items.size() > 16)
            continue;
        const Value* path = value_of(values, value, "relative_path");
        const Value* offset = value_of(values, value, "offset");
        const Value* length = value_of(values, value, "length");
        if (path == nullptr || offset == nullptr || length == nullptr || path->kind != Value::Kind::kText ||
            offset->kind != Value::Kind::kInteger || length->kind != Value::Kind::kInteger ||
            offset->number < 0 || length->number < 0)
            continue;
        uint64_t& end = files[std::string(path->text)];
        end = std::max(end, static_cast<uint64_t>(offset->number) + static_cast<uint64_t>(length->number));
    }
    if (files.empty()) return core::bad_input("names no files");
    return files;
}

}  // namespace belay::stage
