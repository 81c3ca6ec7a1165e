#include "bench/models/oc20/files/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace belay::bench::oc20 {

using core::bad_input;
using core::Result;

namespace {

// Opcodes of Lib/pickle.py.
enum Opcode : uint8_t {
    kMark = '(',
    kStop = '.',
    kPop = '0',
    kPopMark = '1',
    kNone = 'N',
    kNewTrue = 0x88,
    kNewFalse = 0x89,
    kInt4 = 'J',
    kInt1 = 'K',
    kInt2 = 'M',
    kLong1 = 0x8a,
    kFloat = 'G',
    kUnicode1 = 0x8c,
    kUnicode4 = 'X',
    kUnicode8 = 0x8d,
    kBytes1 = 'C',
    kBytes4 = 'B',
    kBytes8 = 0x8e,
    kString1 = 'U',
    kString4 = 'T',
    kEmptyTuple = ')',
    kTuple = 't',
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kEmptyList = ']',
    kAppend = 'a',
    kAppends = 'e',
    kEmptyDictionary = '}',
    kSetItem = 's',
    kSetItems = 'u',
    kGlobal = 'c',
    kStackGlobal = 0x93,
    kReduce = 'R',
    kNewObject = 0x81,
    kNewObjectWithKeywords = 0x92,
    kBuild = 'b',
    kPersistentId = 'Q',
    kGet1 = 'h',
    kGet4 = 'j',
    kPut1 = 'q',
    kPut4 = 'r',
    kMemoize = 0x94,
    kProtocol = 0x80,
    kFrame = 0x95,
};

constexpr int kFirstProtocol = 2, kLastProtocol = 5;

}  // namespace

class PickleReader {
  public:
    explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

    Result<Pickle> read() {
        if (bytes_.size() < 2 || static_cast<uint8_t>(bytes_[0]) != kProtocol)
            return bad_input("it is not a pickle of protocol {} to {}", kFirstProtocol, kLastProtocol);
        for (size_t steps = 0; !is_done_; ++steps) {
            place_ = position_;
            if (steps == kMaximumPickleSteps)
                return std::unexpected(damaged(fmt::format("it has more than {} opcodes", steps)));
            BELAY_TRY(opcode, take_number(1));
            BELAY_CHECK(follow(static_cast<uint8_t>(opcode)));
        }
        pickle_.length_ = position_;
        return std::move(pickle_);
    }

  private:
    using Number = Pickle::Number;
    using Kind = Pickle::Kind;
    using Value = Pickle::Value;

    core::Error damaged(std::string_view what) const {
        return core::bad_input("the pickle is damaged at byte {}: {}", place_, what).error();
    }

    Result<std::string_view> take(uint64_t count) {
        if (count > bytes_.size() - position_) return std::unexpected(damaged("it is cut off"));
        const std::string_view taken = bytes_.substr(position_, count);
        position_ += count;
        return taken;
    }
    // Little-endian, of 1 to 8 bytes.
    Result<uint64_t> take_number(size_t width) {
        BELAY_TRY(taken, take(width));
        uint64_t number = 0;
        for (size_t i = width; i-- > 0;) number = number << 8 | static_cast<uint8_t>(taken[i]);
        return number;
    }
    Result<std::string_view> take_counted(size_t width) {
        BELAY_TRY(count, take_number(width));
        return take(count);
    }
    Result<std::string_view> take_line() {
        const size_t end = bytes_.find('\n', position_);
        if (end == std::string_view::npos) return std::unexpected(damaged("it is cut off"));
        const std::string_view line = bytes_.substr(position_, end - position_);
        position_ = end + 1;
        return line;
    }

    Result<> push(Value value) {
        static_assert(kMaximumPickleSteps < std::numeric_limits<Number>::max());
        stack_.push_back(static_cast<Number>(pickle_.values_.size()));
        pickle_.values_.push_back(std::move(value));
        return {};
    }
    size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
    Result<Number> pop() {
        if (stack_.size() <= floor()) return std::unexpected(damaged("it takes a value that is not there"));
        const Number value = stack_.back();
        stack_.pop_back();
        return value;
    }
    Result<std::vector<Number>> pop_some(size_t count) {
        if (stack_.size() - floor() < count)
            return std::unexpected(damaged("it takes a value that is not there"));
        std::vector<Number> values(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
        stack_.resize(stack_.size() - count);
        return values;
    }
    Result<std::vector<Number>> pop_to_mark() {
        if (marks_.empty()) return std::unexpected(damaged("it takes a mark that is not there"));
        std::vector<Number> values(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return values;
    }
    // The value on top of the stack, where others are added to it.
    Result<Value*> top(Kind kind) {
        if (stack_.size() <= floor() || pickle_.values_[stack_.back()].kind != kind)
            return std::unexpected(damaged("it adds to a value that cannot take this"));
        return &pickle_.values_[stack_.back()];
    }
    Result<> add(Kind kind, const std::vector<Number>& parts) {
        if (kind == Kind::kDictionary && parts.size() % 2 != 0)
            return std::unexpected(damaged("a key has no value"));
        BELAY_TRY(value, top(kind));
        value->parts.insert(value->parts.end(), parts.begin(), parts.end());
        return {};
    }

    Result<> follow(uint8_t opcode);
    Result<> follow_scalar(uint8_t opcode);
    Result<> follow_collection(uint8_t opcode);
    Result<> follow_object(uint8_t opcode);
    Result<> follow_memo(uint8_t opcode);
    Result<> push_text(Kind kind, Result<std::string_view> text) {
        BELAY_CHECK(text);
        return push({.kind = kind, .text = *text});
    }
    Result<> push_parts(Kind kind, Result<std::vector<Number>> parts) {
        BELAY_CHECK(parts);
        return push({.kind = kind, .parts = std::move(*parts)});
    }
    Result<> push_integer(size_t width) {
        BELAY_TRY(taken, take_number(width));
        const int64_t number =
            width == 4 ? int64_t{static_cast<int32_t>(taken)} : static_cast<int64_t>(taken);
        return push({.kind = Kind::kInteger, .integer = number});
    }
    Result<> push_long();
    Result<> push_named(bool from_stack);
    Result<> build();
    Result<> memoize(uint64_t key) {
        if (stack_.size() <= floor())
            return std::unexpected(damaged("it remembers a value that is not there"));
        memo_[key] = stack_.back();
        return {};
    }
    Result<> recall(size_t width) {
        BELAY_TRY(key, take_number(width));
        const auto found = memo_.find(key);
        if (found == memo_.end())
            return std::unexpected(damaged("it recalls a value that it did not remember"));
        stack_.push_back(found->second);
        return {};
    }

    std::string_view bytes_;
    size_t position_ = 0, place_ = 0;
    bool is_done_ = false;
    Pickle pickle_;
    std::vector<Number> stack_;
    std::vector<size_t> marks_;
    std::unordered_map<uint64_t, Number> memo_;
};

Result<> PickleReader::follow(uint8_t opcode) {
    switch (opcode) {
        case kProtocol: {
            BELAY_TRY(protocol, take_number(1));
            if (protocol < kFirstProtocol || protocol > kLastProtocol)
                return bad_input("it is a pickle of protocol {}; 2 to 5 are read", protocol);
            return {};
        }
        case kFrame: {
            BELAY_CHECK(take_number(8));
            return {};
        }
        case kStop: {
            BELAY_TRY(root, pop());
            if (!stack_.empty() || !marks_.empty()) return std::unexpected(damaged("it ends amid a value"));
            pickle_.root_ = root;
            is_done_ = true;
            return {};
        }
        case kMark:
            marks_.push_back(stack_.size());
            return {};
        case kPop: {
            BELAY_CHECK(pop());
            return {};
        }
        case kPopMark: {
            BELAY_CHECK(pop_to_mark());
            return {};
        }
        default:
            return follow_scalar(opcode);
    }
}

Result<> PickleReader::follow_scalar(uint8_t opcode) {
    switch (opcode) {
        case kNone:
            return push({.kind = Kind::kNone});
        case kNewTrue:
        case kNewFalse:
            return push({.kind = Kind::kBool, .integer = opcode == kNewTrue ? 1 : 0});
        case kInt1:
            return push_integer(1);
        case kInt2:
            return push_integer(2);
        case kInt4:
            return push_integer(4);
        case kLong1:
            return push_long();
        case kFloat: {
            BELAY_TRY(bits, take_number(8));  // big-endian, unlike everything else
            return push({.kind = Kind::kReal, .real = std::bit_cast<double>(__builtin_bswap64(bits))});
        }
        case kUnicode1:
        case kString1:
            return push_text(Kind::kText, take_counted(1));
        case kUnicode4:
        case kString4:
            return push_text(Kind::kText, take_counted(4));
        case kUnicode8:
            return push_text(Kind::kText, take_counted(8));
        case kBytes1:
            return push_text(Kind::kBytes, take_counted(1));
        case kBytes4:
            return push_text(Kind::kBytes, take_counted(4));
        case kBytes8:
            return push_text(Kind::kBytes, take_counted(8));
        default:
            return follow_collection(opcode);
    }
}

Result<> PickleReader::follow_collection(uint8_t opcode) {
    switch (opcode) {
        case kEmptyTuple:
            return push({.kind = Kind::kTuple});
        case kEmptyList:
            return push({.kind = Kind::kList});
        case kEmptyDictionary:
            return push({.kind = Kind::kDictionary});
        case kTuple:
            return push_parts(Kind::kTuple, pop_to_mark());
        case kTuple1:
        case kTuple2:
        case kTuple3:
            return push_parts(Kind::kTuple, pop_some(size_t{opcode} - kTuple1 + 1));
        case kAppend:
        case kAppends: {
            BELAY_TRY(parts, opcode == kAppend ? pop_some(1) : pop_to_mark());
            return add(Kind::kList, parts);
        }
        case kSetItem:
        case kSetItems: {
            BELAY_TRY(parts, opcode == kSetItem ? pop_some(2) : pop_to_mark());
            if (stack_.size() > floor() && pickle_.values_[stack_.back()].kind == Kind::kCall)
                return {};  // items of an OrderedDict, which nothing here looks at
            return add(Kind::kDictionary, parts);
        }
        default:
            return follow_object(opcode);
    }
}

Result<> PickleReader::follow_object(uint8_t opcode) {
    switch (opcode) {
        case kGlobal:
            return push_named(false);
        case kStackGlobal:
            return push_named(true);
        case kReduce:
        case kNewObject:
            return push_parts(Kind::kCall, pop_some(2));
        case kNewObjectWithKeywords: {
            BELAY_TRY(parts, pop_some(3));
            return push({.kind = Kind::kCall, .parts = {parts[0], parts[1]}});
        }
        case kBuild:
            return build();
        case kPersistentId:
            return push_parts(Kind::kPersistent, pop_some(1));
        default:
            return follow_memo(opcode);
    }
}

Result<> PickleReader::follow_memo(uint8_t opcode) {
    switch (opcode) {
        case kMemoize:
            return memoize(memo_.size());
        case kPut1: {
            BELAY_TRY(key, take_number(1));
            return memoize(key);
        }
        case kPut4: {
            BELAY_TRY(key, take_number(4));
            return memoize(key);
        }
        case kGet1:
            return recall(1);
        case kGet4:
            return recall(4);
        default:
            return std::unexpected(damaged(fmt::format("the opcode {:#04x} is not read", opcode)));
    }
}

// Of up to 8 bytes; torch's magic number has 10 and stands as 0, a value that no tensor has.
Result<> PickleReader::push_long() {
    BELAY_TRY(bytes, take_counted(1));
    uint64_t bits = 0;
    if (bytes.size() <= 8 && !bytes.empty()) {
        const bool is_negative = (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
        bits = is_negative ? ~uint64_t{0} : 0;
        for (size_t i = bytes.size(); i-- > 0;) bits = bits << 8 | static_cast<uint8_t>(bytes[i]);
    }
    return push({.kind = Kind::kInteger, .integer = static_cast<int64_t>(bits), .text = bytes});
}

Result<> PickleReader::push_named(bool from_stack) {
    if (!from_stack) {
        BELAY_TRY(module, take_line());
        BELAY_TRY(name, take_line());
        return push({.kind = Kind::kName, .text = name, .module = module});
    }
    BELAY_TRY(parts, pop_some(2));
    const Value &module = pickle_.values_[parts[0]], &name = pickle_.values_[parts[1]];
    if (module.kind != Kind::kText || name.kind != Kind::kText)
        return std::unexpected(damaged("a name is not a text"));
    return push({.kind = Kind::kName, .text = name.text, .module = module.text});
}

// Gives an object its state.
Result<> PickleReader::build() {
    BELAY_TRY(state, pop());
    BELAY_TRY(object, top(Kind::kCall));
    object->parts.resize(2);
    object->parts.push_back(state);
    return {};
}

Result<Pickle> Pickle::read(std::string_view bytes) {
    return PickleReader(bytes).read();
}

}  // namespace belay::bench::oc20
