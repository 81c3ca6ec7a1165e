#include "shard/tar_format.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

namespace belay::shard {

namespace {

struct Header {
    std::array<char, 100> name;
    std::array<char, 8> mode;
    std::array<char, 8> user;
    std::array<char, 8> group;
    std::array<char, 12> size;
    std::array<char, 12> mtime;
    std::array<char, 8> checksum;
    char type;
    std::array<char, 100> link;
    std::array<char, 8> magic;  // with the version
    std::array<char, 32> user_name;
    std::array<char, 32> group_name;
    std::array<char, 8> device_major;
    std::array<char, 8> device_minor;
    std::array<char, 155> prefix;
    std::array<char, 12> padding;
};
static_assert(sizeof(Header) == kTarBlock);

template <size_t kSize>
void put(std::array<char, kSize>& field, std::string_view text) {
    std::ranges::copy(text.substr(0, kSize), field.begin());
}

// So many digits, and the NUL that ends them where there is room.
void put_octal(char* field, size_t digits, uint64_t number) {
    for (size_t i = digits; i-- > 0; number /= 8) field[i] = static_cast<char>('0' + number % 8);
}

std::string block(std::string_view name, uint64_t size, char type) {
    Header header{};
    put(header.name, name);
    put(header.mode, "0000644");
    put(header.user, "0000000");
    put(header.group, "0000000");
    put_octal(header.size.data(), header.size.size() - 1, size);
    put(header.mtime, "00000000000");
    put(header.checksum, "        ");  // while it is added up
    header.type = type;
    put(header.magic, std::string_view("ustar\00000", 8));
    put(header.device_major, "0000000");
    put(header.device_minor, "0000000");
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    unsigned sum = 0;
    for (char byte : bytes) sum += static_cast<unsigned char>(byte);
    constexpr size_t kChecksumDigits = 6;  // then a NUL and a blank
    put_octal(bytes.data() + offsetof(Header, checksum), kChecksumDigits, sum);
    bytes[offsetof(Header, checksum) + kChecksumDigits] = '\0';
    return bytes;
}

// "LENGTH KEY=VALUE\n", where LENGTH counts its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
    const size_t rest = key.size() + value.size() + 3;
    size_t length = rest + 1;
    while (rest + std::to_string(length).size() != length) length = rest + std::to_string(length).size();
    return fmt::format("{} {}={}\n", length, key, value);
}

std::string pax_records(std::string_view name, uint64_t size) {
    std::string records;
    const bool long_name = name.size() > kTarNameBytes;
    // Else readers would take the name for UTF-8.
    if (long_name && core::to_valid_utf8(name) != name) records += pax_record("hdrcharset", "BINARY");
    if (long_name) records += pax_record("path", name);
    if (size >= kTarSizeLimit) records += pax_record("size", std::to_string(size));
    return records;
}

uint64_t octal(std::string_view field) {
    uint64_t value = 0;
    for (char digit : field) {
        if (digit < '0' || digit > '7') break;
        value = value * 8 + static_cast<uint64_t>(digit - '0');
    }
    return value;
}

std::string_view text_of(std::string_view field) {
    return field.substr(0, std::min(field.find('\0'), field.size()));
}

// What the records say of name and size; they are checked by making them again.
void take_pax_records(std::string_view records, TarMember& member) {
    while (!records.empty()) {
        const size_t length = std::min<uint64_t>(
            core::parse_number<uint64_t>(records.substr(0, records.find(' '))).value_or(0), records.size());
        if (length == 0) return;
        std::string_view record = records.substr(0, length);
        records.remove_prefix(length);
        record.remove_prefix(std::min(record.find(' ') + 1, record.size()));
        const size_t equals = record.find('=');
        if (equals == std::string_view::npos) return;
        const std::string_view value = record.substr(equals + 1, record.size() - equals - 2);
        if (record.starts_with("path=")) member.name = value;
        if (record.starts_with("size=")) member.bytes = core::parse_number<uint64_t>(value).value_or(0);
    }
}

}  // namespace

std::optional<TarMember> parse_tar_header(std::string_view bytes) {
    if (bytes.size() < kTarBlock) return std::nullopt;
    constexpr size_t kSizeField = offsetof(Header, size);
    constexpr size_t kTypeField = offsetof(Header, type);
    TarMember member;
    std::string_view rest = bytes;
    std::string_view records;
    if (rest[kTypeField] == 'x') {
        const uint64_t size = octal(rest.substr(kSizeField, sizeof(Header::size)));
        if (size > bytes.size() - kTarBlock ||
            bytes.size() - kTarBlock - size < tar_padding(size) + kTarBlock)
            return std::nullopt;
        records = rest.substr(kTarBlock, size);
        rest.remove_prefix(kTarBlock + size + tar_padding(size));
    }
    member.name = text_of(rest.substr(0, kTarNameBytes));
    member.bytes = octal(rest.substr(kSizeField, sizeof(Header::size)));
    take_pax_records(records, member);
    const std::string header = tar_header(member.name, member.bytes);
    if (member.name.empty() || !bytes.starts_with(header)) return std::nullopt;
    member.header_bytes = header.size();
    return member;
}

std::string tar_header(std::string_view name, uint64_t size) {
    const std::string records = pax_records(name, size);
    std::string bytes;
    if (!records.empty()) {
        bytes = block("PaxHeader", records.size(), 'x') + records;
        bytes.append(tar_padding(records.size()), '\0');
    }
    return bytes + block(name.substr(0, kTarNameBytes), size < kTarSizeLimit ? size : 0, '0');
}

uint64_t tar_header_bytes(std::string_view name, uint64_t size) {
    const uint64_t records = pax_records(name, size).size();
    return kTarBlock + (records > 0 ? kTarBlock + records + tar_padding(records) : 0);
}

}  // namespace belay::shard
