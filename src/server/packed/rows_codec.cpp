#include "server/packed/rows_codec.h"

#include "server/packed/number_codec.h"
#include "server/packed/packed_bytes.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace belay::server {

using core::bad_input;
using core::Result;
using schema::ColumnType;
using stream::ColumnValues;

namespace {

enum ColumnEncoding : uint8_t { kAsInSegments = 0, kNumbers = 1, kDecimals = 2 };
enum Presence : uint8_t { kAllPresent = 0, kAllNull = 1, kSomeNull = 2 };

constexpr int kMaxExponent = 12;
constexpr std::array<double, kMaxExponent + 1> kPowersOfTen = {1,   1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                                                               1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
// Beyond it, a value times a power of ten may not round to the whole number that it stands for.
constexpr double kMaxDecimal = 2251799813685248.0;  // 2^51

// The whole number that is the value times 10^exponent, if the value can be had back from it to the bit.
std::optional<int64_t> as_decimal(double value, int exponent) {
    const double power = kPowersOfTen[static_cast<size_t>(exponent)];
    const double scaled = value * power;
    if (!(std::abs(scaled) < kMaxDecimal)) return std::nullopt;
    const double whole = std::round(scaled);
    if (whole / power != value || (whole == 0 && std::signbit(value))) return std::nullopt;
    return static_cast<int64_t>(whole);
}

struct Decimals {
    int exponent = 0;
    std::vector<int64_t> numbers;  // of the rows that are not null
};

// Nothing where a value is none.
std::optional<Decimals> as_decimals(const ColumnValues& values, size_t rows) {
    Decimals decimals;
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        while (!as_decimal(values.reals[i], decimals.exponent))
            if (++decimals.exponent > kMaxExponent) return std::nullopt;
    }
    for (size_t i = 0; i < rows; ++i) {
        if (values.present[i] == 0) continue;
        const auto whole = as_decimal(values.reals[i], decimals.exponent);
        if (!whole) return std::nullopt;  // beyond the bound by an exponent that a later value needed
        decimals.numbers.push_back(*whole);
    }
    return decimals;
}

std::vector<int64_t> present_numbers(const ColumnValues& values, size_t rows) {
    std::vector<int64_t> numbers;
    numbers.reserve(rows);
    for (size_t i = 0; i < rows; ++i)
        if (values.present[i] != 0) numbers.push_back(values.integers[i]);
    return numbers;
}

void put_presence(std::string& out, const ColumnValues& values, size_t rows, int level) {
    const auto present = static_cast<size_t>(std::ranges::count(values.present, uint8_t{1}));
    if (present == rows) return out.push_back(static_cast<char>(kAllPresent));
    if (present == 0) return out.push_back(static_cast<char>(kAllNull));
    std::string bits((rows + 7) / 8, '\0');
    for (size_t i = 0; i < rows; ++i)
        if (values.present[i] != 0) bits[i / 8] = static_cast<char>(bits[i / 8] | (1 << (i % 8)));
    out.push_back(static_cast<char>(kSomeNull));
    put_packed_bytes(out, bits, level);
}

// How many rows are present.
Result<size_t> take_presence(std::string_view& in, size_t rows, ColumnValues& values) {
    if (in.empty()) return bad_input("a column ends early");
    const auto presence = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    values.present.assign(rows, presence == kAllPresent ? 1 : 0);
    if (presence == kAllPresent) return rows;
    if (presence == kAllNull) return size_t{0};
    if (presence != kSomeNull) return bad_input("unknown presence of a column");
    const size_t size = (rows + 7) / 8;
    BELAY_TRY(bits, take_packed_bytes(in, size));
    if (bits.size() != size) return bad_input("a column ends early");
    size_t present = 0;
    for (size_t i = 0; i < rows; ++i) {
        values.present[i] = (static_cast<uint8_t>(bits[i / 8]) >> (i % 8)) & 1;
        present += values.present[i];
    }
    return present;
}

std::string encode_one_column(ColumnType type, const ColumnValues& values, size_t rows, int level) {
    std::string out;
    if (type == ColumnType::kReal) {
        if (const auto decimals = as_decimals(values, rows)) {
            out.push_back(static_cast<char>(kDecimals));
            out.push_back(static_cast<char>(decimals->exponent));
            put_presence(out, values, rows, level);
            if (put_numbers(out, decimals->numbers, level)) return out;
        }
    } else if (type == ColumnType::kInteger || type == ColumnType::kTimestamp) {
        out.push_back(static_cast<char>(kNumbers));
        put_presence(out, values, rows, level);
        if (put_numbers(out, present_numbers(values, rows), level)) return out;
    }
    out.assign(1, static_cast<char>(kAsInSegments));
    std::string encoded;
    stream::encode_column(type, values, rows, encoded);
    put_packed_bytes(out, encoded, level);
    return out;
}

Result<> decode_numbers(std::string_view& in, size_t rows, ColumnValues& values) {
    BELAY_TRY(present, take_presence(in, rows, values));
    BELAY_TRY(numbers, take_numbers(in, present));
    values.integers.assign(rows, 0);
    size_t at = 0;
    for (size_t i = 0; i < rows; ++i)
        if (values.present[i] != 0) values.integers[i] = numbers[at++];
    return {};
}

Result<> decode_one_column(ColumnType type, std::string_view in, size_t rows, ColumnValues& values,
                           uint64_t& text_budget) {
    if (in.empty()) return bad_input("a column without an encoding");
    const auto encoding = static_cast<uint8_t>(in[0]);
    in.remove_prefix(1);
    if (encoding == kAsInSegments) {
        BELAY_TRY(encoded, take_packed_bytes(in, stream::kMaxBlockBytes));
        std::string_view rest = encoded;
        BELAY_CHECK(stream::decode_column(type, rest, rows, values, text_budget));
        if (!rest.empty()) return bad_input("bytes after a column");
    } else if (encoding == kNumbers && (type == ColumnType::kInteger || type == ColumnType::kTimestamp)) {
        BELAY_CHECK(decode_numbers(in, rows, values));
    } else if (encoding == kDecimals && type == ColumnType::kReal) {
        if (in.empty() || static_cast<uint8_t>(in[0]) > kMaxExponent) return bad_input("unknown exponent");
        const double power = kPowersOfTen[static_cast<uint8_t>(in[0])];
        in.remove_prefix(1);
        BELAY_CHECK(decode_numbers(in, rows, values));
        values.reals.assign(rows, 0);
        for (size_t i = 0; i < rows; ++i)
            if (values.present[i] != 0) values.reals[i] = static_cast<double>(values.integers[i]) / power;
        values.integers.clear();
    } else {
        return bad_input("unknown encoding of a column");
    }
    if (!in.empty()) return bad_input("bytes after a column");
    return {};
}

void fill_with_null(ColumnType type, size_t rows, ColumnValues& values) {
    values.present.assign(rows, 0);
    if (type == ColumnType::kText)
        values.texts.assign(rows, {});
    else if (type == ColumnType::kReal)
        values.reals.assign(rows, 0);
    else
        values.integers.assign(rows, 0);
}

}  // namespace

std::string encode_packed_rows(const stream::Batch& batch, int level) {
    std::string payload;
    const auto columns = batch.table().columns;
    stream::put_varint(payload, columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
        const std::string column = encode_one_column(columns[i].type, batch.values(i), batch.rows(), level);
        stream::put_varint(payload, column.size());
        payload += column;
    }
    return payload;
}

WantedColumns WantedColumns::only(std::vector<size_t> columns) {
    WantedColumns wanted;
    wanted.all_ = false;
    wanted.columns_ = std::move(columns);
    std::ranges::sort(wanted.columns_);
    return wanted;
}

bool WantedColumns::has(size_t column) const {
    constexpr size_t kTimeAndNode = 2;
    return all_ || column < kTimeAndNode || std::ranges::binary_search(columns_, column);
}

Result<> decode_packed_rows(std::string_view payload, size_t rows, const stream::WrittenTable& written,
                            const WantedColumns& wanted, stream::Batch& batch) {
    BELAY_TRY(count, stream::take_varint(payload));
    if (count != written.columns.size()) return bad_input("column count differs from the schema");
    const auto columns = batch.table().columns;
    std::vector<bool> filled(columns.size());
    uint64_t text_budget = stream::kMaxBlockTextBytes;
    for (const stream::WrittenColumn& column : written.columns) {
        BELAY_TRY(bytes, stream::take_varint(payload));
        if (bytes > payload.size()) return bad_input("a column ends early");
        const std::string_view encoded = payload.substr(0, static_cast<size_t>(bytes));
        payload.remove_prefix(static_cast<size_t>(bytes));
        if (!column.index || !wanted.has(*column.index)) continue;
        if (filled[*column.index]) return bad_input("a column stands twice");
        BELAY_CHECK(decode_one_column(column.type, encoded, rows, batch.values(*column.index), text_budget));
        filled[*column.index] = true;
    }
    if (!payload.empty()) return bad_input("bytes after the last column");
    for (size_t i = 0; i < filled.size(); ++i)
        if (!filled[i]) fill_with_null(columns[i].type, rows, batch.values(i));
    batch.set_rows(rows);
    return {};
}

}  // namespace belay::server
