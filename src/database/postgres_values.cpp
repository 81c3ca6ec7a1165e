#include "database/postgres_values.h"

#include "core/utf8.h"

#include <bit>
#include <cstring>
#include <libpq-fe.h>
#include <string_view>

namespace belay::database {

using core::Result;

namespace {

// Numbers of the types that every server has (src/include/catalog/pg_type.dat).
constexpr PostgresType kBool = 16, kBytea = 17, kChar = 18, kName = 19, kInt8 = 20, kInt2 = 21, kInt4 = 23,
                       kText = 25, kOid = 26, kFloat4 = 700, kFloat8 = 701, kUnknown = 705, kBpchar = 1042,
                       kVarchar = 1043, kVoid = 2278;
constexpr int kBinary = 1;

void put_big_endian(std::array<char, 8>& out, uint64_t bits) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
}

uint64_t big_endian(std::string_view bytes) {
    uint64_t value = 0;
    for (char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
}

// Widened from the two's complement of that many bytes.
int64_t signed_of(std::string_view bytes) {
    const auto shift = static_cast<int>(64 - 8 * bytes.size());
    return bytes.empty() ? 0 : static_cast<int64_t>(big_endian(bytes) << shift) >> shift;
}

std::optional<Value> value_of_type(PostgresType type, std::string_view bytes) {
    auto has = [&](size_t size) { return bytes.size() == size; };
    switch (type) {
        case kInt8:
        case kInt4:
        case kInt2:
            return has(8) || has(4) || has(2) ? std::optional<Value>(signed_of(bytes)) : std::nullopt;
        case kBool:
        case kOid:
            return has(1) || has(4) ? std::optional<Value>(static_cast<int64_t>(big_endian(bytes)))
                                    : std::nullopt;
        case kFloat8:
            return has(8) ? std::optional<Value>(std::bit_cast<double>(big_endian(bytes))) : std::nullopt;
        case kFloat4:
            return has(4) ? std::optional<Value>(static_cast<double>(
                                std::bit_cast<float>(static_cast<uint32_t>(big_endian(bytes)))))
                          : std::nullopt;
        case kText:
        case kVarchar:
        case kBpchar:
        case kName:
        case kChar:
        case kUnknown:
            return Value(std::string(bytes));
        case kBytea:
            return Value(Bytes(std::string(bytes)));
        case kVoid:
            return Value();
        default:
            return std::nullopt;
    }
}

}  // namespace

PostgresParameters::PostgresParameters(const Values& values) : numbers_(values.size()) {
    auto add = [this](PostgresType type, const char* begin, size_t length, char letter) {
        types.push_back(type);
        begins.push_back(begin);
        lengths.push_back(static_cast<int>(length));
        formats.push_back(kBinary);
        signature += letter;
    };
    for (size_t i = 0; i < values.size(); ++i) {
        std::array<char, 8>& number = numbers_[i];
        if (const auto* integer = std::get_if<int64_t>(&values[i])) {
            put_big_endian(number, static_cast<uint64_t>(*integer));
            add(kInt8, number.data(), number.size(), 'i');
        } else if (const auto* real = std::get_if<double>(&values[i])) {
            put_big_endian(number, std::bit_cast<uint64_t>(*real));
            add(kFloat8, number.data(), number.size(), 'd');
        } else if (const auto* text = std::get_if<std::string>(&values[i])) {
            add(kText, text->data(), text->size(), 't');
        } else if (const auto* bytes = std::get_if<Bytes>(&values[i])) {
            add(kBytea, bytes->data.data(), bytes->data.size(), 'b');
        } else {
            add(0, nullptr, 0, 'n');
        }
    }
}

Result<> read_row(const PGresult* result, Row& row) {
    row.values().clear();
    for (int column = 0; column < PQnfields(result); ++column) {
        if (PQgetisnull(result, 0, column) != 0) {
            row.values().emplace_back();
            continue;
        }
        const std::string_view bytes(PQgetvalue(result, 0, column),
                                     static_cast<size_t>(PQgetlength(result, 0, column)));
        auto value = value_of_type(PQftype(result, column), bytes);
        if (!value)
            return core::system_error(
                       "PostgreSQL: column {} of an answer has a type that SQLite does not know (number {})",
                       core::printable(PQfname(result, column)), PQftype(result, column))
                .hint("write CAST(… AS BIGINT), DOUBLE PRECISION or TEXT");
        row.values().push_back(std::move(*value));
    }
    return {};
}

}  // namespace belay::database
