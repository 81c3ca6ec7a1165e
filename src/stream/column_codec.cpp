#include "stream/column_codec.h"

#include "core/utf8.h"
#include "stream/segment_format.h"

#include <bit>
#include <cmath>
#include <map>

namespace belay::stream {

using core::bad_input;
using core::Result;

namespace {

// Signed to unsigned with small magnitudes staying small: 0, -1, 1, -2, 2 ... (Protocol Buffers' "zigzag").
uint64_t zigzag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// The common case of take_varint(), without a Result: false where the number is long or the bytes end.
bool take_short_varint(std::string_view& in, uint64_t& value) {
    if (in.empty() || static_cast<uint8_t>(in[0]) >= 0x80) return false;
    value = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    return true;
}

Result<std::string_view> take_bytes(std::string_view& in, size_t count) {
    if (in.size() < count) return bad_input("column ends early");
    std::string_view bytes = in.substr(0, count);
    in.remove_prefix(count);
    return bytes;
}

// One bit per row, lowest bit first; left out (flag 0) if no row is null.
void encode_presence(const ColumnValues& values, size_t rows, std::string& out) {
    bool any_null = false;
    for (uint8_t present : values.present) any_null |= present == 0;
    out.push_back(any_null ? 1 : 0);
    if (!any_null) return;
    std::string bits((rows + 7) / 8, '\0');
    for (size_t i = 0; i < rows; ++i)
        if (values.present[i] != 0) bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
    out += bits;
}

Result<> decode_presence(std::string_view& in, size_t rows, ColumnValues& values) {
    BELAY_TRY(flag, take_bytes(in, 1));
    values.present.assign(rows, 1);
    if (flag[0] == 0) return {};
    if (flag[0] != 1) return bad_input("unknown presence flag");
    BELAY_TRY(bits, take_bytes(in, (rows + 7) / 8));
    for (size_t i = 0; i < rows; ++i) values.present[i] = (static_cast<uint8_t>(bits[i / 8]) >> (i % 8)) & 1;
    return {};
}

// Counters and times grow evenly, so differences are small. Wraps around on overflow, in both directions
// alike.
void encode_integers(const ColumnValues& values, size_t rows, std::string& out) {
    uint64_t last = 0;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        auto value = static_cast<uint64_t>(values.integers[i]);
        put_varint(out, zigzag(static_cast<int64_t>(value - last)));
        last = value;
    }
}

Result<> decode_integers(std::string_view& in, size_t rows, ColumnValues& values) {
    values.integers.assign(rows, 0);
    uint64_t last = 0;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        uint64_t difference = 0;
        if (!take_short_varint(in, difference)) {
            BELAY_TRY(taken, take_varint(in));
            difference = taken;
        }
        last += static_cast<uint64_t>(unzigzag(difference));
        values.integers[i] = static_cast<int64_t>(last);
    }
    return {};
}

// XOR with the value before leaves few bits; sorting the bytes by significance puts the zeros together for
// zstd.
void encode_reals(const ColumnValues& values, size_t rows, std::string& out) {
    std::vector<uint64_t> bits;
    uint64_t last = 0;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        auto value = std::bit_cast<uint64_t>(values.reals[i]);
        bits.push_back(value ^ last);
        last = value;
    }
    for (int byte = 0; byte < 8; ++byte)
        for (uint64_t value : bits) out.push_back(static_cast<char>((value >> (8 * byte)) & 0xff));
}

Result<> decode_reals(std::string_view& in, size_t rows, ColumnValues& values) {
    size_t count = 0;
    for (uint8_t present : values.present) count += present;
    BELAY_TRY(bytes, take_bytes(in, count * 8));
    values.reals.assign(rows, 0);
    uint64_t last = 0;
    size_t at = 0;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        uint64_t difference = 0;
        for (size_t byte = 0; byte < 8; ++byte)
            difference |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[byte * count + at])) << (8 * byte);
        last ^= difference;
        values.reals[i] = std::bit_cast<double>(last);
        if (!std::isfinite(values.reals[i])) return bad_input("a value is not finite");
        ++at;
    }
    return {};
}

// Names repeat: each distinct text once, then an index per row.
void encode_texts(const ColumnValues& values, size_t rows, std::string& out) {
    std::map<std::string_view, uint64_t> index;
    std::vector<std::string_view> distinct;
    std::string indexes;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        auto [entry, added] = index.try_emplace(values.texts[i], distinct.size());
        if (added) distinct.push_back(entry->first);
        put_varint(indexes, entry->second);
    }
    put_varint(out, distinct.size());
    for (std::string_view text : distinct) {
        put_varint(out, text.size());
        out += text;
    }
    out += indexes;
}

Result<> decode_texts(std::string_view& in, size_t rows, ColumnValues& values, uint64_t& text_budget) {
    BELAY_TRY(count, take_varint(in));
    if (count > rows) return bad_input("more distinct texts than rows");
    std::vector<std::string> distinct;
    uint64_t distinct_bytes = 0;
    for (uint64_t i = 0; i < count; ++i) {
        BELAY_TRY(size, take_varint(in));
        BELAY_TRY(text, take_bytes(in, size));
        distinct_bytes += size;
        if (distinct_bytes > text_budget) return bad_input("more text than a block may hold");
        distinct.push_back(core::to_valid_utf8(text));
    }
    values.texts.assign(rows, {});
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        uint64_t which = 0;
        if (!take_short_varint(in, which)) {
            BELAY_TRY(taken, take_varint(in));
            which = taken;
        }
        if (which >= distinct.size()) return bad_input("text index out of range");
        const uint64_t bytes = distinct[which].size();
        if (bytes > text_budget) return bad_input("more text than a block may hold");
        text_budget -= bytes;
        values.texts[i] = distinct[which];
    }
    return {};
}

}  // namespace

void put_varint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    out.push_back(static_cast<char>(value));
}

Result<uint64_t> take_varint(std::string_view& in) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (in.empty()) return bad_input("column ends early");
        auto bits = static_cast<uint8_t>(in[0]);
        in.remove_prefix(1);
        if (shift == 63 && bits > 1) break;
        value |= static_cast<uint64_t>(bits & 0x7f) << shift;
        if ((bits & 0x80) == 0) return value;
    }
    return bad_input("number too long");
}

void encode_column(schema::ColumnType type, const ColumnValues& values, size_t rows, std::string& out) {
    encode_presence(values, rows, out);
    switch (type) {
        case schema::ColumnType::kText:
            return encode_texts(values, rows, out);
        case schema::ColumnType::kReal:
            return encode_reals(values, rows, out);
        default:
            return encode_integers(values, rows, out);
    }
}

Result<> decode_column(schema::ColumnType type, std::string_view& in, size_t rows, ColumnValues& values,
                       uint64_t& text_budget) {
    BELAY_CHECK(decode_presence(in, rows, values));
    switch (type) {
        case schema::ColumnType::kText:
            return decode_texts(in, rows, values, text_budget);
        case schema::ColumnType::kReal:
            return decode_reals(in, rows, values);
        default:
            return decode_integers(in, rows, values);
    }
}

}  // namespace belay::stream
