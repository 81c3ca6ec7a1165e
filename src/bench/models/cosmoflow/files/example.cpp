#include "bench/models/cosmoflow/files/example.h"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>

namespace belay::bench::cosmoflow {

namespace {

using core::bad_input;
using core::Result;

static_assert(std::endian::native == std::endian::little, "floats are taken as they lie in memory");

enum class Wire : uint8_t { kVarint, kFixed64, kBytes, kGroup, kGroupEnd, kFixed32 };
constexpr int kWireBits = 3;
constexpr int kMostGroups = 100;  // within one another: protobuf's own limit

// Numbers of fields.
constexpr uint32_t kFeatures = 1;           // Example
constexpr uint32_t kEntry = 1;              // Features: its map
constexpr uint32_t kKey = 1, kContent = 2;  // an entry
constexpr uint32_t kValue = 1;              // BytesList, FloatList

struct Field {
    uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::string_view content;  // of kBytes and kFixed32, else empty
    bool is(uint32_t wanted, Wire its_wire) const { return number == wanted && wire == its_wire; }
};

// Goes through the fields of a message.
class Message {
  public:
    // `offset`: where it begins in the whole, for errors.
    Message(std::string_view bytes, size_t offset) : bytes_(bytes), offset_(offset) {}

    // Nothing at the end.
    Result<std::optional<Field>> next() {
        if (at_ == bytes_.size()) return std::nullopt;
        BELAY_TRY(field, next_of_any());
        if (field.wire == Wire::kGroupEnd) return damaged("the end of a group that has not begun");
        if (field.wire == Wire::kGroup) BELAY_CHECK(skip_group(field.number));
        return field;
    }
    // A message within, that the field which was given last holds.
    Message within(const Field& field) const { return {field.content, offset_ + at_ - field.content.size()}; }
    core::Failure damaged(std::string_view what) const {
        return bad_input("its Example is damaged before byte {}: {}", offset_ + at_, what);
    }

  private:
    size_t left() const { return bytes_.size() - at_; }

    Result<uint64_t> varint() {
        constexpr int kBits = 7;
        uint64_t value = 0;
        for (int shift = 0; shift < std::numeric_limits<uint64_t>::digits; shift += kBits) {
            if (left() == 0) return damaged("a number is cut off");
            const auto byte = static_cast<uint8_t>(bytes_[at_++]);
            value |= uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) return value;
        }
        return damaged("a number is longer than 10 bytes");
    }

    Result<std::string_view> take(uint64_t count) {
        if (count > left())
            return damaged(fmt::format("{} bytes should follow, and {} are left", count, left()));
        const std::string_view taken = bytes_.substr(at_, static_cast<size_t>(count));
        at_ += taken.size();
        return taken;
    }

    Result<Field> next_of_any() {
        BELAY_TRY(tag, varint());
        if (tag > std::numeric_limits<uint32_t>::max() || tag >> kWireBits == 0)
            return damaged(fmt::format("a field has the number {}", tag >> kWireBits));
        Field field{.number = static_cast<uint32_t>(tag >> kWireBits),
                    .wire = static_cast<Wire>(tag & ((1U << kWireBits) - 1))};
        uint64_t size = 0;
        switch (field.wire) {
            case Wire::kGroup:
            case Wire::kGroupEnd:
                return field;
            case Wire::kVarint:
                BELAY_CHECK(varint());
                return field;
            case Wire::kFixed64:
                size = sizeof(uint64_t);
                break;
            case Wire::kFixed32:
                size = sizeof(uint32_t);
                break;
            case Wire::kBytes: {
                BELAY_TRY(length, varint());
                size = length;
                break;
            }
            default:
                return damaged(fmt::format("field {} has no known type", field.number));
        }
        BELAY_TRY(content, take(size));
        field.content = content;
        return field;
    }

    // What nobody writes any more, and parsers still skip.
    Result<> skip_group(uint32_t number) {
        std::array<uint32_t, kMostGroups> open{number};
        for (size_t depth = 1; depth > 0;) {
            if (left() == 0) return damaged("a group does not end");
            BELAY_TRY(field, next_of_any());
            if (field.wire == Wire::kGroupEnd && field.number != open[--depth])
                return damaged("a group ends that is not the innermost");
            if (field.wire != Wire::kGroup) continue;
            if (depth == open.size())
                return damaged(fmt::format("more than {} groups within one another", open.size()));
            open[depth++] = field.number;
        }
        return {};
    }

    std::string_view bytes_;
    size_t offset_;
    size_t at_ = 0;
};

// Calls use(message, field) with each field of a message.
template <typename Use>
Result<> for_each_field(Message message, Use use) {
    for (;;) {
        BELAY_TRY(field, message.next());
        if (!field) return {};
        BELAY_CHECK(use(message, *field));
    }
}

void add_float(std::string_view bytes, Feature& feature) {
    if (feature.values < feature.floats.size())
        std::memcpy(&feature.floats[feature.values], bytes.data(), sizeof(float));
    ++feature.values;
}

Result<> add_list(const Message& list, Feature& feature) {
    return for_each_field(list, [&](const Message& message, const Field& field) -> Result<> {
        if (feature.kind == Feature::Kind::kBytes && field.is(kValue, Wire::kBytes)) {
            if (feature.values++ == 0) feature.bytes = field.content;
        } else if (feature.kind == Feature::Kind::kFloats && field.is(kValue, Wire::kFixed32)) {
            add_float(field.content, feature);
        } else if (feature.kind == Feature::Kind::kFloats && field.is(kValue, Wire::kBytes)) {
            if (field.content.size() % sizeof(float) != 0)
                return message.damaged(fmt::format("{} bytes are no list of floats", field.content.size()));
            for (size_t at = 0; at < field.content.size(); at += sizeof(float))
                add_float(field.content.substr(at), feature);
        }
        return {};
    });
}

// One of several lists: another kind than before takes the place of what was there.
Result<> add_feature(const Message& feature_message, Feature& feature) {
    return for_each_field(feature_message, [&](const Message& message, const Field& field) -> Result<> {
        const auto kind =
            static_cast<Feature::Kind>(field.number);  // bytes_list = 1, float_list = 2, int64_list = 3
        if (field.wire != Wire::kBytes || field.number > static_cast<uint32_t>(Feature::Kind::kIntegers))
            return {};
        if (feature.kind != kind) feature = {.kind = kind};
        return add_list(message.within(field), feature);
    });
}

struct Entry {
    std::string_view name;
    Feature feature;
};

Result<Entry> read_entry(const Message& entry_message) {
    Entry entry;
    BELAY_CHECK(for_each_field(entry_message, [&](const Message& message, const Field& field) -> Result<> {
        if (field.is(kKey, Wire::kBytes)) entry.name = field.content;
        if (!field.is(kContent, Wire::kBytes)) return {};
        return add_feature(message.within(field), entry.feature);
    }));
    return entry;
}

}  // namespace

std::string_view kind_name(Feature::Kind kind) {
    switch (kind) {
        case Feature::Kind::kBytes:
            return "a bytes_list";
        case Feature::Kind::kFloats:
            return "a float_list";
        case Feature::Kind::kIntegers:
            return "an int64_list";
        case Feature::Kind::kNothing:
            break;
    }
    return "nothing";
}

Result<Feature> find_feature(std::string_view example, std::string_view name) {
    std::optional<Feature> found;
    auto look = [&](const Message& features, const Field& field) -> Result<> {
        if (!field.is(kEntry, Wire::kBytes)) return {};
        BELAY_TRY(entry, read_entry(features.within(field)));
        if (entry.name == name) found = entry.feature;
        return {};
    };
    BELAY_CHECK(
        for_each_field(Message(example, 0), [&](const Message& whole, const Field& field) -> Result<> {
            return field.is(kFeatures, Wire::kBytes) ? for_each_field(whole.within(field), look) : Result<>();
        }));
    if (!found) return bad_input("its Example has no feature \"{}\"", name);
    return *found;
}

}  // namespace belay::bench::cosmoflow
